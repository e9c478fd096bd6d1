"""``imvc methods``: what can be run."""

from imvc.cli._options import PrintJson
from imvc.cli._printing import print_json, print_table

EXAMPLES = ("imvc methods", "imvc methods --json")


def methods(json: PrintJson = False) -> None:
    """List the methods, their papers and how their cost grows with the samples."""
    from imvc.methods._registry import METHODS

    found = [
        {
            "name": method.name,
            "class": method.class_name,
            "cost": method.cost,
            "paper": method.paper,
        }
        for method in METHODS.values()
    ]
    if json:
        print_json(found)
    else:
        rows = [[str(value) for value in line.values()] for line in found]
        print_table("", list(found[0]), rows)
