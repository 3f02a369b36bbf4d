#!/usr/bin/env bash
# What the other tests here stand on.
exec "$(dirname "$0")/../lab/selftest"
