# SPDX-License-Identifier: BSD-2-Clause
# Meson and ninja do the work; this is the short way to type it.
BUILD ?= build
PREFIX ?= /usr/local

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@script/setup build
	@meson setup $(BUILD) --buildtype=release --prefix=$(PREFIX)

# Sets up, builds, and shows the main job; removes all it made.
demo: all
	@script/demo $(BUILD)/src/cmd/weir

# Every test that belongs to a change (minutes); check-all has the long ones too.
check:
	@script/check

check-all:
	@script/check --all

# Against the best peer, turn by turn: ratios, never a pass or fail of CI.
bench: all
	@script/setup test
	@ninja -C $(BUILD) bench-programs
	@bench/run $(BUILD)

fuzz:
	@script/setup test
	@script/fuzz $(or $(SECONDS_PER_TARGET),60)

lint:
	@script/setup test
	@tests/lint/run

install: all
	@meson install -C $(BUILD)

clean:
	@rm -rf build build-*

.PHONY: all demo check check-all bench fuzz lint install clean
