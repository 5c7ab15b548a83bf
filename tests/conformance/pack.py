"""Packs the conformance set alone: pack.py VERSION FOLDER writes posenc-conformance-VERSION.tar.gz,
whose bytes depend on the files alone, and its sha256 beside it."""

import gzip
import hashlib
import io
import pathlib
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
FILES = ("README.md", "ONNX.md", "architectures.json", "conformance.py", "numpy_engine.py",
         "schema.json")
FOLDERS = ("attention", "cases", "steps")


def files():
    """By their names in the archive."""
    found = {name: HERE / name for name in FILES}
    found["LICENSE"] = HERE.parent.parent / "LICENSE"
    for folder in FOLDERS:
        found.update({f"{folder}/{file.name}": file for file in (HERE / folder).glob("*.json")})
    return found


def pack(version, folder):
    """The path of the archive."""
    name = f"posenc-conformance-{version}"
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, packed, mtime=0) as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for path, file in sorted(files().items()):
                info = tarfile.TarInfo(f"{name}/{path}")
                data = file.read_bytes()
                info.size, info.mode = len(data), 0o644
                archive.addfile(info, io.BytesIO(data))
    archive = pathlib.Path(folder) / f"{name}.tar.gz"
    archive.parent.mkdir(parents=True, exist_ok=True)
    archive.write_bytes(packed.getvalue())
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    archive.with_name(archive.name + ".sha256").write_text(f"{digest}  {archive.name}\n")
    return archive


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("pack.py VERSION FOLDER")
    print(pack(*sys.argv[1:]))
