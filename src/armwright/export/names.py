"""Names of robots, functions and parameters as other languages can have them."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterable

_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main
assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdarg stdbool stddef stdint stdio
stdlib string tgmath time wchar wctype
m all test help clean install package edit_cache rebuild_cache
alignas alignof and asm bool bitand bitor catch char8_t char16_t char32_t class compl concept consteval constexpr
constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export false friend mutable
namespace new noexcept not nullptr operator or private protected public reinterpret_cast requires static_assert
static_cast template this thread_local throw true try typeid typename using virtual wchar_t xor std
"""
RESERVED = frozenset(_WORDS.split())
"""Names with a meaning in C or C++, among their headers, or in CMake."""


def identifier(name: str) -> str:
    """The robot's name as a name in C and Python: ASCII letters, digits and underscores, not starting with a digit."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    taken = keyword.iskeyword(plain) or plain in sys.stdlib_module_names or plain in RESERVED
    return plain if plain and not plain[0].isdigit() and not taken else f"robot_{plain}".rstrip("_")


def outside(function: str) -> str:
    """The name of a function in other languages: "jacobian@camera" is jacobian_camera."""
    return re.sub(r"\W+", "_", function).strip("_")


def arguments(names: Iterable[str]) -> dict[str, str]:
    """Arguments by their names outside, none of them twice: "payload.mass" is payload_mass."""
    made: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
        plain = f"of_{plain}" if plain[0].isdigit() else plain
        while plain in made.values():
            plain += "_"
        made[name] = plain
    return made


def shown(name: str) -> str:
    """A name into comments: nothing that could end one."""
    return re.sub(r"[^\w .,()-]", " ", name, flags=re.ASCII)
