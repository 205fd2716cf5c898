#!/bin/sh
# Builds the guest agent: guest/build.sh <out-dir> [arch...]   (amd64 and arm64 unless told)
# The same sources and the same Go give the same bytes, wherever they lie. VERSION is what `agent version` says;
# the caller derives it from the sources. GO names the Go command.
set -eu
out=${1:?usage: build.sh <out-dir> [arch...]}
shift
[ $# -gt 0 ] || set -- amd64 arm64
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"
export CGO_ENABLED=0 GOOS=linux GOAMD64=v1 GOARM64=v8.0 GOFLAGS= GOEXPERIMENT= GOWORK=off
for arch; do
  GOARCH=$arch "${GO:-go}" build -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -X main.version=${VERSION:-dev}" -o "$out/agent-linux-$arch" .
done
