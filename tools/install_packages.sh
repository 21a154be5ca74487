#!/usr/bin/env bash
# Installs the packages of tools/packages.txt that are missing: those of the build, with --checks also those of the checks.
set -euo pipefail
list=$(dirname "$0")/packages.txt
end='/^\[checks\]/,$d'
[ "${1:-}" = --checks ] && end='/^\[checks\]/d'
missing=()
for package in $(sed -e "$end" -e '/^#/d' "$list"); do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "installing ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "error: sudo is not there; as root: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
