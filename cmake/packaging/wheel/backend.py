"""Builds posenc's wheel (PEP 517) of the folder posenc/, the library being in it; needs Python 3.11
alone. In a clone CMake makes that folder, by the target wheel. The bytes are the same each time. The tag names the oldest glibc that has what the library
needs (manylinux), or the system alone (linux) if it needs a libstdc++ too."""

import ast
import base64
import hashlib
import pathlib
import re
import shutil
import subprocess
import tomllib
import zipfile

MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine of ELF


def platform_of(library):
    bytes_ = library.read_bytes()
    machine = MACHINES.get(int.from_bytes(bytes_[18:20], "little")) if bytes_[:4] == b"\x7fELF" else None
    if machine is None:
        raise ValueError(f"the library must be of Linux on {' or '.join(MACHINES.values())}: {library}")
    minors = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.([0-9]+)", bytes_)]
    return f"linux_{machine}" if b"\0GLIBCXX_" in bytes_ else f"manylinux_2_{max(17, *minors)}_{machine}"


def build_in_clone(folder):
    for command in ["--preset", "curves"], ["--build", "build/curves", "--target", "wheel"]:
        try:
            subprocess.run(["cmake", *command], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"posenc: cmake {' '.join(command)}: {error}; examples/README.md says what it needs") from None
    wheel, = pathlib.Path("build/curves/wheel").glob("posenc-*.whl")
    return pathlib.Path(shutil.copy(wheel, folder)).name


def build_wheel(folder, config_settings=None, metadata_directory=None):
    if pathlib.Path("CMakePresets.json").exists():
        return build_in_clone(folder)
    project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
    name = f"{project['name']}-{project['version']}"
    library, = pathlib.Path("posenc").glob("*.so")
    tag = f"py3-none-{platform_of(library)}"
    info = f"{name}.dist-info"
    licenses = sorted(pathlib.Path(".").glob("LICENSE*"))
    files = {str(path): path.read_bytes() for path in sorted(pathlib.Path("posenc").iterdir()) if path.is_file()}
    files |= {f"{info}/licenses/{path}": path.read_bytes() for path in licenses}
    metadata = {"Metadata-Version": ["2.4"], "Name": [project["name"]], "Version": [project["version"]],
                "Summary": [project["description"]], "License-Expression": [project["license"]],
                "License-File": licenses, "Requires-Python": [project["requires-python"]],
                "Requires-Dist": project["dependencies"], "Description-Content-Type": ["text/plain"]}
    page = ast.get_docstring(ast.parse(pathlib.Path("posenc/__init__.py").read_text()))
    wheel = {"Wheel-Version": ["1.0"], "Generator": ["posenc"], "Root-Is-Purelib": ["false"], "Tag": [tag]}
    scripts = "".join(f"{command} = {of}\n" for command, of in project.get("scripts", {}).items())
    if scripts:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{scripts}".encode()
    for of, fields in (("METADATA", metadata), ("WHEEL", wheel)):
        files[f"{info}/{of}"] = "".join(f"{key}: {value}\n" for key, values in fields.items() for value in values).encode()
    files[f"{info}/METADATA"] += f"\n{page}\n".encode()
    digests = ((path, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
               for path, data in files.items())
    record = "".join(f"{path},sha256={digest},{size}\n" for path, digest, size in digests) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = record.encode()
    with zipfile.ZipFile(pathlib.Path(folder) / f"{name}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0))
            mode = 0o100755 if path == "posenc/posenc-program" else 0o100644
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, mode << 16
            archive.writestr(entry, data)
    return f"{name}-{tag}.whl"
