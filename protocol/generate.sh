#!/bin/sh
# Generates the TypeScript and Go code of the host-guest contract. Needs `npm ci` and Go.
set -eu
cd "$(dirname "$0")/.."
buf=node_modules/.bin/buf
$buf format -w protocol
$buf lint protocol
$buf generate protocol --template protocol/buf.gen.yaml
