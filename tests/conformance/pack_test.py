"""That the packed set is whole, has the same bytes each time, and runs where it was unpacked."""

import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import pack

with tempfile.TemporaryDirectory() as folder:
    first, second = (pack.pack("1.2.3", pathlib.Path(folder) / name) for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    said = first.with_name(first.name + ".sha256").read_text()
    assert said == f"{hashlib.sha256(first.read_bytes()).hexdigest()}  {first.name}\n", said
    with tarfile.open(first) as archive:
        archive.extractall(folder)
    unpacked = pathlib.Path(folder) / "posenc-conformance-1.2.3"
    there = {str(file.relative_to(unpacked)) for file in unpacked.rglob("*") if file.is_file()}
    assert there == set(pack.files()), there ^ set(pack.files())
    assert {name.split("/")[0] for name in there} == {
        *pack.FILES, *pack.FOLDERS, "LICENSE"}, "a folder is empty"
    here = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for arguments, status, says in (
            ([], 0, " 0 wrong"),
            ([":attend=cap_on_padding"], 1, "WRONG    cap-65-keys: cap-on-padding"),
            (["", "--architecture", "qwen3"], 0, "1 right")):
        engine = "numpy_engine.py" + "".join(arguments[:1])
        run = subprocess.run([sys.executable, "-B", "conformance.py", engine, *arguments[1:]],
                             cwd=unpacked, env=here, capture_output=True, text=True)
        assert run.returncode == status and says in run.stdout, run
print("the packed set is whole")
