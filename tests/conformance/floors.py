#!/usr/bin/env python3
"""Compares the figures of a conformance run (a JSON file) with floors.toml beside this file; fails below a floor."""
import json
import pathlib
import sys
import tomllib

floors = tomllib.loads((pathlib.Path(__file__).parent / "floors.toml").read_text())["floors"]
figures = json.loads(pathlib.Path(sys.argv[1]).read_text())
below = 0
for family, floor in floors.items():
    have = figures.get(family, {}).get("hit", 0)
    if have < floor:
        below += 1
        print(f"{family}: {have} cases are right, and {floor} were before")
    elif have > floor:
        print(f"{family}: {have} cases are right; raise the floor from {floor}")
sys.exit(below > 0)
