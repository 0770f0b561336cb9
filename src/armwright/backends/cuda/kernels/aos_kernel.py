"""The kernel for row-major arrays (array of structures): a warp loads the rows of 32 states in accesses of 16 bytes.

Arguments and results pass through shared memory, where each lane reads and writes its row. Long rows of results are
computed in shared memory and written one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from armwright.backends.cuda.kernels import launch_limits
from armwright.backends.cuda.kernels.launch_limits import number_bytes
from armwright.backends.cuda.kernels.per_thread import ONE_STATE, check_statements, lines
from armwright.graph.program import Program

MAX_ROW_ENTRIES = 32
"""The most entries of a row of an argument, and of a row of results in registers."""


def _shared_numbers(program: Program, rows: Sequence[bool]) -> int:
    """Return the numbers in shared memory of a state; `rows` says which arguments and whether results are rows."""
    *arguments, out = rows
    m = program.results
    widths = [n for n, row in zip(program.sizes, arguments, strict=True) if row]
    return sum(widths) + (0 if not out else m if m <= MAX_ROW_ENTRIES else m | 1)


def block_threads(program: Program, rows: Sequence[bool], double: bool) -> int:
    """Return the threads of a block whose rows fit in shared memory, 0 if those of no warp do."""
    return launch_limits.block_threads(_shared_numbers(program, rows) * number_bytes(double))


def text(program: Program, rows: Sequence[bool], double: bool, bounds: str, unused: str) -> str:
    """Return the kernel `run`; `rows` says which arguments and whether results are rows."""
    *argument_rows, out = rows
    fetch, store, reads, place = list[str](), list[str](), list[str](), 0
    for (name, inputs), row in zip(program.arguments, argument_rows, strict=True):
        if row:
            n = len(inputs)
            source = f"call.{name}.at + first * {n}"
            fetch.append(f"    Part<{n}> {name}_part;\n    {name}_part.fetch({source}, lane, rows);")
            store.append(f"    {name}_part.store({source}, shared + {place * 32}, lane, rows);")
            reads.append(f"    const Row {name} = {{shared + {place * 32} + lane * {n}}};")
            place += n
        else:
            reads.append(f"    const Input {name} = state_of(call.{name}, i);")
    names = ", ".join(name for name, _ in program.arguments)
    result, deliver = _results(program.results, place * 32) if out else (_STRIDED_RESULTS, "")
    warps = block_threads(program, rows, double) // 32
    return f"""{ROW_STRUCT}{_PARTS.format(vector="double2" if double else "float4", per_access=2 if double else 4)}
extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    __shared__ __align__(16) real all[{warps}][{32 * _shared_numbers(program, rows)}];
    real *const shared = all[threadIdx.x / 32];
    const int lane = threadIdx.x % 32;
    const int64 first = blockIdx.x * (int64){32 * warps} + (threadIdx.x & ~31);
    const int rows = call.states - first < 32 ? (int)(call.states - first) : 32;
    if (rows <= 0)
        return;
    const int64 i = first + (lane < rows ? lane : rows - 1);
{chr(10).join(fetch)}
{chr(10).join(store)}
    __syncwarp();
{chr(10).join(reads)}
{result}{unused}
    const bool done = body<false>({names}, out);
{deliver}
    if (lane < rows) {{
    {lines(check_statements(ONE_STATE, ["i"]))}
    }}
}}
"""


_STRIDED_RESULTS = """    if (lane >= rows)
        return;
    Output out = {call.out.at + i * call.out.state, call.out.entry, 0};"""


def _results(m: int, place: int) -> tuple[str, str]:
    """Return the declaration of m results, and the statements that write them to memory."""
    if m <= MAX_ROW_ENTRIES:
        return (
            f"    real kept[{m}];\n    Checked out = {{kept, 0}};",
            f"""    __syncwarp();
    EACH(k, {m})
        shared[{place} + lane * {m} + k] = kept[k];
    __syncwarp();
    Part<{m}>::deliver(shared + {place}, call.out.at + first * {m}, lane, rows);
    __syncwarp();""",
        )
    stride = m | 1  # odd, so that lanes write to different banks
    return (
        f"    Checked out = {{shared + {place} + lane * {stride}, 0}};",
        f"""    __syncwarp();
    for (int r = 0; r < rows; ++r)
        for (int k = lane; k < {m}; k += 32)
            __stcs(call.out.at + (first + r) * {m} + k, shared[{place} + r * {stride} + k]);
    __syncwarp();""",
    )


ROW_STRUCT = """// A row in shared memory.
struct Row {
    const real *at;
    MEMBER real operator[](int k) const
    {
        return at[k];
    }
};
"""

_PARTS = """
// The numbers that a lane fetches of the rows of a warp, n numbers each, {per_access} neighbours at a time. Single
// numbers at the end of the last rows go straight to shared memory.
template <int n> struct Part {{
    static const int each = (n + {per_access} - 1) / {per_access};
    {vector} own[each];

    template <bool all> MEMBER void fetch_rows(const real *__restrict__ rows, int lane, int count)
    {{
        EACH(k, each)
            if (k * 32 + lane < (all ? 32 : count) * n / {per_access})
                own[k] = __ldcs((const {vector} *)rows + k * 32 + lane);
    }}

    template <bool all> MEMBER void store_rows(real *shared, int lane, int count) const
    {{
        EACH(k, each)
            if (k * 32 + lane < (all ? 32 : count) * n / {per_access})
                (({vector} *)shared)[k * 32 + lane] = own[k];
    }}

    template <bool all>
    static MEMBER void deliver_rows(const real *shared, real *__restrict__ rows, int lane, int count)
    {{
        EACH(k, each)
            if (k * 32 + lane < (all ? 32 : count) * n / {per_access})
                __stcs(({vector} *)rows + k * 32 + lane, ((const {vector} *)shared)[k * 32 + lane]);
    }}

    MEMBER void fetch(const real *__restrict__ rows, int lane, int count)
    {{
        if (count == 32)
            fetch_rows<true>(rows, lane, count);
        else
            fetch_rows<false>(rows, lane, count);
    }}

    MEMBER void store(const real *__restrict__ rows, real *shared, int lane, int count) const
    {{
        if (count == 32) {{
            store_rows<true>(shared, lane, count);
            return;
        }}
        store_rows<false>(shared, lane, count);
        const int single = count * n / {per_access} * {per_access} + lane;
        if (single < count * n)
            shared[single] = rows[single];
    }}

    static MEMBER void deliver(const real *shared, real *__restrict__ rows, int lane, int count)
    {{
        if (count == 32) {{
            deliver_rows<true>(shared, rows, lane, count);
            return;
        }}
        deliver_rows<false>(shared, rows, lane, count);
        const int single = count * n / {per_access} * {per_access} + lane;
        if (single < count * n)
            rows[single] = shared[single];
    }}
}};
"""
