#!/usr/bin/env bash
# The cluster file's JSON Schema, checked with the cases of its parser: it accepts what gpuadm accepts; unknown keys and
# values of a wrong type it refuses.
. "$(dirname "$0")/common"

exits 0 gpuadm config schema
cat >judge.py <<'END'
import json, pathlib, sys, jsonschema, yaml

class Loader(yaml.SafeLoader):  # YAML 1.2, as editors read it: off, yes and no are words
    pass

Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in of if tag != "tag:yaml.org,2002:bool" or first in "tTfF"]
    for first, of in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
schema = json.load(open("out"))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
taken = refused = 0
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    try:
        file = yaml.load(open(folder / "cluster.yaml"), Loader)
    except yaml.YAMLError:
        continue
    problems = [f"{error.json_path}: {error.message[:100]}" for error in validator.iter_errors(file)]
    if (folder / "cluster.json").exists():
        taken += 1
        if problems: sys.exit(f"{folder.name}: {problems}")
    elif folder.name in ("wrong-types", "unknown-keys", "not-a-map", "not-a-cluster-file"):
        refused += 1
        if not problems: sys.exit(f"{folder.name}: no error")
if taken < 5 or refused < 4: sys.exit(f"only {taken} taken, {refused} refused")
END
python3 judge.py "$top/tests/cases/spec" 2>err >shown || fail 'the schema is not what gpuadm takes'
