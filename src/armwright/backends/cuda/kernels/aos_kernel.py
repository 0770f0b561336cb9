"""States that are rows: a warp fetches those of its 32 states in accesses of 16 bytes and hands them out.

They go through shared memory, in which each lane then reads its own row, and so do results on their way back. Long rows
of results stay there as they are computed, and are written one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from armwright.backends.cuda.kernels import launch_limits
from armwright.backends.cuda.kernels.launch_limits import size
from armwright.backends.cuda.kernels.per_thread import ONE, judged, lines
from armwright.graph.program import Program

WIDEST = 32
"""Entries of a row of an argument, up to which it is handed out, and of a result, up to which it is in registers."""


def _room(program: Program, rows: Sequence[bool]) -> int:
    """Numbers of shared memory that a state needs: which arguments are rows, and whether the result is."""
    *given, out = rows
    m = program.results
    widths = [n for n, row in zip(program.sizes, given, strict=True) if row]
    return sum(widths) + (0 if not out else m if m <= WIDEST else m | 1)


def threads(program: Program, rows: Sequence[bool], double: bool) -> int:
    """Of a block, as many as have room; none if not even a warp has."""
    return launch_limits.threads(_room(program, rows) * size(double))


def staged(program: Program, rows: Sequence[bool], double: bool, bounds: str, unused: str) -> str:
    """The kernel `run`, for arguments of which some are rows, and for a result that may be."""
    *inputs_in_rows, out = rows
    fetch, hand, given, place = list[str](), list[str](), list[str](), 0
    for (name, inputs), row in zip(program.arguments, inputs_in_rows, strict=True):
        if row:
            n = len(inputs)
            rest = f"call.{name}.at + first * {n}"
            fetch.append(f"    Part<{n}> {name}_part;\n    {name}_part.fetch({rest}, lane, rows);")
            hand.append(f"    {name}_part.lay({rest}, shared + {place * 32}, lane, rows);")
            given.append(f"    const Row {name} = {{shared + {place * 32} + lane * {n}}};")
            place += n
        else:
            given.append(f"    const Input {name} = state_of(call.{name}, i);")
    names = ", ".join(name for name, _ in program.arguments)
    result, deliver = _results(program.results, place * 32) if out else (_ELSEWHERE, "")
    warps = threads(program, rows, double) // 32
    return f"""{ROW}{_PARTS.format(vector="double2" if double else "float4", beside=2 if double else 4)}
extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    __shared__ __align__(16) real all[{warps}][{32 * _room(program, rows)}];
    real *const shared = all[threadIdx.x / 32];
    const int lane = threadIdx.x % 32;
    const whole first = blockIdx.x * (whole){32 * warps} + (threadIdx.x & ~31);
    const int rows = call.states - first < 32 ? (int)(call.states - first) : 32;
    if (rows <= 0)
        return;
    const whole i = first + (lane < rows ? lane : rows - 1);
{chr(10).join(fetch)}
{chr(10).join(hand)}
    __syncwarp();
{chr(10).join(given)}
{result}{unused}
    const bool done = body<false>({names}, out);
{deliver}
    if (lane < rows) {{
    {lines(judged(ONE, ["i"]))}
    }}
}}
"""


_ELSEWHERE = """    if (lane >= rows)
        return;
    Output out = {call.out.at + i * call.out.state, call.out.entry, 0};"""


def _results(m: int, place: int) -> tuple[str, str]:
    """Where results of m numbers go, and how they leave."""
    if m <= WIDEST:
        return (
            f"    real kept[{m}];\n    Checked out = {{kept, 0}};",
            f"""    __syncwarp();
    EACH(k, {m})
        shared[{place} + lane * {m} + k] = kept[k];
    __syncwarp();
    Part<{m}>::deliver(shared + {place}, call.out.at + first * {m}, lane, rows);
    __syncwarp();""",
        )
    apart = m | 1  # an odd distance: so lanes write to places that are apart
    return (
        f"    Checked out = {{shared + {place} + lane * {apart}, 0}};",
        f"""    __syncwarp();
    for (int r = 0; r < rows; ++r)
        for (int k = lane; k < {m}; k += 32)
            __stcs(call.out.at + (first + r) * {m} + k, shared[{place} + r * {apart} + k]);
    __syncwarp();""",
    )


ROW = """// A row in shared memory.
struct Row {
    const real *at;
    MEMBER real operator[](int k) const
    {
        return at[k];
    }
};
"""

_PARTS = """
// What a lane fetches of the rows of a warp, n numbers each, {beside} neighbours at a time; of the last rows some
// single numbers may be left, which go straight to shared memory.
template <int n> struct Part {{
    static const int each = (n + {beside} - 1) / {beside};
    {vector} own[each];

    template <bool all> MEMBER void fetched(const real *__restrict__ rows, int lane, int count)
    {{
        EACH(k, each)
            if (k * 32 + lane < (all ? 32 : count) * n / {beside})
                own[k] = __ldcs((const {vector} *)rows + k * 32 + lane);
    }}

    template <bool all> MEMBER void laid(real *shared, int lane, int count) const
    {{
        EACH(k, each)
            if (k * 32 + lane < (all ? 32 : count) * n / {beside})
                (({vector} *)shared)[k * 32 + lane] = own[k];
    }}

    template <bool all>
    static MEMBER void delivered(const real *shared, real *__restrict__ rows, int lane, int count)
    {{
        EACH(k, each)
            if (k * 32 + lane < (all ? 32 : count) * n / {beside})
                __stcs(({vector} *)rows + k * 32 + lane, ((const {vector} *)shared)[k * 32 + lane]);
    }}

    MEMBER void fetch(const real *__restrict__ rows, int lane, int count)
    {{
        if (count == 32)
            fetched<true>(rows, lane, count);
        else
            fetched<false>(rows, lane, count);
    }}

    MEMBER void lay(const real *__restrict__ rows, real *shared, int lane, int count) const
    {{
        if (count == 32) {{
            laid<true>(shared, lane, count);
            return;
        }}
        laid<false>(shared, lane, count);
        const int single = count * n / {beside} * {beside} + lane;
        if (single < count * n)
            shared[single] = rows[single];
    }}

    static MEMBER void deliver(const real *shared, real *__restrict__ rows, int lane, int count)
    {{
        if (count == 32) {{
            delivered<true>(shared, rows, lane, count);
            return;
        }}
        delivered<false>(shared, rows, lane, count);
        const int single = count * n / {beside} * {beside} + lane;
        if (single < count * n)
            rows[single] = shared[single];
    }}
}};
"""
