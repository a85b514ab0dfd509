# kubevirt-rs. Every target installs what it needs on a fresh Debian 12 (root or sudo), and does nothing that is done.
SHELL := /bin/bash
export CARGO_TARGET_DIR ?= $(CURDIR)/target
TARGET := $(CARGO_TARGET_DIR)/x86_64-unknown-linux-gnu
BIN := target/kubevirt-rs
# the variables by which Cargo finds the static libvirt client
LIBVIRT = . deploy/libvirt/env.sh;

.PHONY: build run test bench cluster cluster-down fuzz audit fmt setup-% libvirt guests

build: setup-build libvirt ## the stripped static binary, at target/kubevirt-rs
	$(LIBVIRT) cargo build --release --locked
	cd container-disk && cargo build --release --locked --target-dir $(CARGO_TARGET_DIR)/container-disk
	mkdir -p target && cp -f $(TARGET)/release/kubevirt-rs $(BIN)
	cp -f $(CARGO_TARGET_DIR)/container-disk/x86_64-unknown-linux-gnu/release/container-disk target/container-disk-program

run: setup-run build ## boot the smallest example and attach this terminal to its console
	tiny=$$(tests/guests/build.sh tiny) && exec $(BIN) launcher --vmi examples/vmi-tiny.yaml \
	  --image localhost/kubevirt-rs/tiny:latest=$$tiny/tiny.oci.tar --forward 8080:80 --forward 2222:22

test: setup-test build guests ## formatting, lints, documentation and every test
	cargo fmt --all --check
	$(LIBVIRT) cargo clippy --locked --all-targets --workspace -- -D warnings
	cd container-disk && cargo fmt --check && cargo clippy --locked --target-dir $(CARGO_TARGET_DIR)/container-disk -- -D warnings
	$(LIBVIRT) RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --locked --no-deps --workspace --document-private-items
	$(LIBVIRT) KUBEVIRT_RS=$(CURDIR)/$(BIN) cargo test --locked --workspace

bench: setup-test build guests ## the figures that README quotes
	KUBEVIRT_RS=$(CURDIR)/$(BIN) benches/run.py
	KUBEVIRT_RS=$(CURDIR)/$(BIN) benches/cluster.py
	KUBEVIRT_RS=$(CURDIR)/$(BIN) benches/scale.py

cluster: setup-cluster build guests ## a two-node Kubernetes cluster on this machine with the program installed; says how to use it
	tests/cluster/install.sh $(BIN)

cluster-down: ## end it, and leave nothing
	tests/cluster/cluster.sh down

fuzz: setup-build libvirt ## coverage-guided fuzzing of what strangers can hand over; SECONDS_EACH=60 for a minute a target
	fuzz/run.sh $(or $(SECONDS_EACH),600)

audit: setup-build ## licences, bans and sources of the dependencies
	deploy/audit.sh

fmt:
	cargo fmt --all

setup-%:
	@deploy/setup.sh $*

libvirt:
	@deploy/libvirt/build.sh >/dev/null

guests:
	@tests/guests/build.sh tiny >/dev/null && tests/guests/build.sh debian >/dev/null
