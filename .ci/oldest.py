"""Prints the oldest versions that pyproject.toml allows, as constraints for pip."""

import re
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
del extras["dev"]  # tools: no user has to have them
for line in sum(extras.values(), project["dependencies"]):
    if not line.startswith("imvc["):
        name, _, version = re.sub(r"\[.*?\]", "", line).partition(">=")
        print(f"{name}=={version}")
