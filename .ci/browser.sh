#!/bin/sh
# Debian's Chromium for the browser tests: installed with CI=true and the rights to do
# so, otherwise told how. Never a reason to fail: those tests are skipped without it.
packages="chromium chromium-driver"
found() { command -v chromium >/dev/null && command -v chromedriver >/dev/null; }

found && exit 0
if [ "${CI:-}" = true ] && command -v apt-get >/dev/null; then
    as_root=""
    [ "$(id -u)" = 0 ] || as_root="sudo -n"
    if [ -z "$as_root" ] || $as_root true 2>/dev/null; then
        export DEBIAN_FRONTEND=noninteractive
        { $as_root apt-get update -qq &&
            $as_root apt-get install -qq -y --no-install-recommends $packages; } \
            >/dev/null 2>&1
    fi
fi
found || echo "Browser tests will be skipped; for them: apt-get install $packages"
