"""What exported C takes on a controller: bytes of code with its constants, bytes of stack, and instructions.

apt install gcc-arm-none-eabi libnewlib-arm-none-eabi && python benchmarks/exported_sizes.py

But for the loop over the angles whose sines are wanted, the code is straight: it executes every instruction once. Sine
and cosine of the C library, which angles of thousands of turns would need, are not counted.
"""

import subprocess
import tempfile
from pathlib import Path

import armwright as aw

TARGETS = {
    "Cortex-M4F, float": ("float32", "cortex-m4", "fpv4-sp-d16"),
    "Cortex-M7, double": ("float64", "cortex-m7", "fpv5-d16"),
}
ASKED = {
    "panda": ["gravity_torque", "inverse_dynamics", "forward_dynamics", "jacobian"],
    "puma560": ["inverse_dynamics"],
    "anymal_c": ["inverse_dynamics"],
}


def measured(robot: str, function: str, dtype: str, cpu: str, fpu: str) -> tuple[int, int, int]:
    """Bytes of code and constants, of stack, and instructions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        header, *_ = aw.export(aw.load(robot), "c", folder, [function], dtype)

        def arm(tool: str, *arguments: str) -> str:
            command = [f"arm-none-eabi-{tool}", *arguments]
            return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout

        flags = [f"-mcpu={cpu}", f"-mfpu={fpu}", "-mfloat-abi=hard", "-mthumb", "-std=c99", "-O2", "-fstack-usage"]
        arm("gcc", *flags, "-c", f"{header.stem}.c", "-o", "out.o")
        code = int(arm("size", "out.o").splitlines()[1].split()[0])
        stack = sum(int(line.split("\t")[1]) for line in (folder / "out.su").read_text().splitlines())
        lines = arm("objdump", "-d", "out.o").splitlines()
        return code, stack, sum("\t" in line and ".word" not in line for line in lines)


if __name__ == "__main__":
    print(f"{'robot, function':28}{'target':20}{'code':>8}{'stack':>8}{'instructions':>14}")
    for robot, functions in ASKED.items():
        for function in functions:
            for target, options in TARGETS.items():
                code, stack, count = measured(robot, function, *options)
                print(f"{robot + ', ' + function:28}{target:20}{code:8}{stack:8}{count:14}")
