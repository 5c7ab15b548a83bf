"""Compares posenc run with the golden facts of a trained model: golden.py PROGRAM MODELS NAME.

MODELS has check.py and a folder for each model, with hf/, GGUF files, golden.json and texts. Facts
that the program gives by other names are renamed; those that it adds are left out."""
import json
import pathlib
import subprocess
import sys
import tempfile

program, models, name = sys.argv[1:]
folder = pathlib.Path(models) / name
golden = json.loads((folder / "golden.json").read_text())
quarters = {"rope": [], "linear_2": ["--scaling", "linear:2"],
            "linear_4": ["--scaling", "linear:4"], "no_rotation": ["--nope"], "ntk_2": ["--scaling", "ntk:2"],
            "yarn_2": ["--scaling", "yarn:2"], "ntk_4": ["--scaling", "ntk:4"],
            "yarn_2_without_attention_factor": ["--scaling", "yarn-without-factor:2"],
            "yarn_4": ["--scaling", "yarn:4"],
            "yarn_4_without_attention_factor": ["--scaling", "yarn-without-factor:4"],
            **{f"p_rope_{m}": ["--fastest", str(m)] for m in range(1, 5)}, "ntk_dynamic_2": ["--scaling", "dynamic:2"],
            "window_256": ["--window", "256"], "window_128": ["--window", "128"],
            "p_rope_5": ["--fastest", "5"], "p_rope_6": ["--fastest", "6"],
            "p_rope_7": ["--fastest", "7"], "log_n_256": ["--log-n", "256"],
            "p_rope_5_log_n_256": ["--fastest", "5", "--log-n", "256"],
            "p_rope_6_log_n_256": ["--fastest", "6", "--log-n", "256"],
            "p_rope_7_log_n_256": ["--fastest", "7", "--log-n", "256"]}


def run(file, *arguments):
    answer = subprocess.run([program, "run", file, "--json", *arguments], capture_output=True, text=True)
    if answer.returncode:
        sys.exit(answer.stderr)
    return json.loads(answer.stdout)


def known(facts, of):
    return {name: value for name, value in facts.items() if name in of}


failed = 0
with tempfile.TemporaryDirectory() as scratch:
    out = pathlib.Path(scratch) / "out.json"
    ids = pathlib.Path(scratch) / "ids"
    for file in [folder / "hf", *sorted(folder.glob("*.gguf"))]:
        whole = file.name not in golden["files"]
        for text, facts in golden["texts"].items():
            if not whole and text not in golden["files"][file.name]:
                continue
            wanted = facts if whole else golden["files"][file.name][text]
            ids.write_text(" ".join(map(str, facts["ids"])))
            if "quarters.rope" in facts:
                found = {"ids": facts["ids"]}
                for change, arguments in quarters.items():
                    if "quarters." + change not in facts:
                        continue
                    of = run(file, "--ids", ids, *arguments)
                    by_name = [value for key, value in of.items() if key.endswith(".quarters")]
                    found["quarters." + change] = by_name[0] if by_name else of["quarters"]
            else:
                arguments = ["--facts"] if whole else ["--against", folder / "hf"]
                found = run(file, "--ids", ids, *arguments, "--top",
                            ",".join(map(str, wanted["top.positions"])))
                other = "other_pairs_" + ("gguf" if file.suffix == ".gguf" else "hf")
                found = {key.replace("other_pairs", other): value for key, value in found.items()}
                if text == "tim":
                    of_text = run(file, "--text", folder / "tim.txt")
                    if of_text["ids"] != facts["ids"]:
                        sys.exit(f"{file}: the ids of tim.txt differ")
                if "greedy.ids" in wanted:
                    ids.write_text(" ".join(map(str, facts["ids"][:wanted["greedy.prompt"]])))
                    found |= known(run(file, "--ids", ids, "--greedy", "64"), ("greedy.prompt", "greedy.ids"))
            found = known(found, wanted) | {"model": name, "file": file.name, "text": text}
            out.write_text(json.dumps(found))
            failed |= subprocess.run([sys.executable, f"{models}/check.py", folder / "golden.json", out]).returncode
sys.exit(failed)
