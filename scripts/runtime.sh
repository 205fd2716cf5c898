# Sourced with $root set: installs the packages of the lock file when they are not all there, and sets $node to
# a Node.js that runs the project. Costs a few milliseconds when there is nothing to do.

fail() {
  echo "emergent: $1" >&2
  exit 1
}

stamp=$root/node_modules/.emergent-installed

# The stamp holds the lock file's checksum and is written last, so an interrupted install is done again.
installed() {
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(cksum <"$root/package-lock.json")" ]
}

install_packages() {
  command -v npm >/dev/null || fail 'npm is not installed; install Node.js 18 or newer with npm first.'
  mkdir -p "$root/.cache"
  # Two first starts at the same time would install into each other.
  exec 9>"$root/.cache/install.lock"
  if command -v flock >/dev/null; then flock 9; fi
  if ! installed; then
    echo 'Installing the packages of package-lock.json (and Node.js 24 with them)…' >&2
    rm -f "$stamp"
    (cd "$root" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error 9>&-) >&2 ||
      fail 'the packages could not be installed; see above. The next start tries again.'
    cksum <"$root/package-lock.json" >"$stamp.new"
    mv -f "$stamp.new" "$stamp"
  fi
  exec 9>&-
}

installed || install_packages

node=$root/node_modules/.bin/node
if ! [ -x "$node" ]; then
  node=$(command -v node) || fail 'Node.js is not installed; install version 18 or newer first.'
  major=$("$node" -p 'process.versions.node.split(".")[0]')
  [ "$major" -ge 24 ] ||
    fail "no Node.js 24 comes as a package for this system, and its own is version $major; install 24 or newer."
fi
