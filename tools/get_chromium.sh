#!/usr/bin/env bash
# A browser for the tests of pages and of the studio. Usage: get_chromium.sh PYTHON
# One that is there and starts; else Debian's, where apt-get can install without asking for a password; else Playwright's own, which
# needs the open internet. Ends with 1, and says what to type, where there is none to be had.
set -uo pipefail

found() {
  for browser in ${POISE_CHROMIUM:+"$POISE_CHROMIUM"} chromium chromium-browser google-chrome; do
    "$browser" --version >/dev/null 2>&1 && return 0  # Ubuntu's chromium-browser may be a word that there is a snap
  done
  return 1
}

from_debian() {
  command -v apt-get >/dev/null || return 1
  local as_root=()
  if ((EUID != 0)); then
    sudo -n true 2>/dev/null || return 1
    as_root=(sudo -n)
  fi
  echo "Installing Debian's chromium, for the tests in a browser"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium && found
}

found || from_debian || "$1" -m playwright install chromium && exit 0
echo "No Chromium could be installed, so the tests in a browser cannot run. Type: sudo apt install chromium"
echo "(or: sudo $1 -m playwright install --with-deps chromium; POISE_CHROMIUM=/path/to/one names any other)"
exit 1
