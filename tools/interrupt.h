// SIGINT and SIGTERM: asked for once, the program ends at the next good moment; asked again later, at once.
#pragma once

namespace arbalest::tools {

void listen_for_interrupts();
bool interrupted();

}  // namespace arbalest::tools
