"""Names of robots, functions and parameters as identifiers of other languages."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterable

_RESERVED_TEXT = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main
assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdarg stdbool stddef stdint stdio
stdlib string tgmath time wchar wctype
m all test help clean install package edit_cache rebuild_cache
alignas alignof and asm bool bitand bitor catch char8_t char16_t char32_t class compl concept consteval constexpr
constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export false friend mutable
namespace new noexcept not nullptr operator or private protected public reinterpret_cast requires static_assert
static_cast template this thread_local throw true try typeid typename using virtual wchar_t xor std
abort abs acos acosh asin asinh atan atan2 atanh atexit atof atoi calloc cbrt ceil clock close copysign cos cosh div
environ erf erfc exit exp exp2 expm1 fabs fdim floor fma fmax fmin fmod free frexp gamma getenv hypot ilogb index isinf
isnan j0 j1 jn labs ldexp ldiv lgamma link log log10 log1p log2 logb lrint lround malloc memcpy memset modf nan nanf
nearbyint nextafter open pause perror pipe pow printf putenv qsort raise rand random read realloc remainder remove
remquo rename rewind rindex rint round scalbn select significand sin sinh sleep sqrt srand stderr stdin stdout strcat
strcmp strcpy strlen strstr sync system tan tanh tgamma trunc write y0 y1 yn linux unix
"""
RESERVED = frozenset(_RESERVED_TEXT.split())
"""Names that C, C++, their libraries and headers, or CMake reserve."""

MAX_IDENTIFIER_LENGTH = 60
"""The most letters of a name, so that files can have it."""


def identifier(name: str) -> str:
    """Return a robot's name as an identifier: ASCII letters, digits and underscores, not beginning with a digit."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()[:MAX_IDENTIFIER_LENGTH].rstrip("_")
    reserved = keyword.iskeyword(plain) or plain in sys.stdlib_module_names or plain in RESERVED
    return plain if plain and not plain[0].isdigit() and not reserved else f"robot_{plain}".rstrip("_")


def function_name(function: str) -> str:
    """Return the exported name of a function: jacobian_camera for "jacobian@camera".

    Letters outside ASCII are written by their code points. CasADi allows no two underscores in a row.
    """
    plain = "".join(c if c.isascii() else f"_u{ord(c):x}_" for c in function)
    return re.sub(r"[\W_]+", "_", plain).strip("_")


def argument_names(names: Iterable[str]) -> dict[str, str]:
    """Return unique identifiers for names of arguments: payload_mass for "payload.mass"."""
    made: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
        plain = f"of_{plain}" if plain[0].isdigit() else plain
        while plain in made.values():
            plain += "_"
        made[name] = plain
    return made


def comment_text(name: str) -> str:
    """Return a name without characters that could end a comment."""
    return re.sub(r"[^\w .,()-]", " ", name, flags=re.ASCII)
