"""Xacro without ROS: every construct alone, real robots beside xacro itself, and files that mean harm."""

import builtins
import importlib
import math
import os
import time
from pathlib import Path

import pytest

from armwright.errors import ModelError, ModelWarning
from armwright.model.meshes import MeshFolders
from armwright.model.xacro import expand
from armwright.model.xml import Element


def write(folder: Path, body: str, name: str = "robot.xacro") -> Path:
    """A file whose body starts in line 2."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n{body}\n</robot>\n')
    return path


def shown(element: Element) -> str:
    """An element in one line, for comparison."""
    attributes = "".join(f" {name}={value!r}" for name, value in element.attributes.items())
    inside = element.text.strip() + "".join(map(shown, element.children))
    return f"<{element.tag}{attributes}>{inside}</>"


@pytest.fixture
def expanded(tmp_path):
    """The content of the robot that a body expands to."""

    def run(body: str, **arguments: str) -> str:
        return "".join(map(shown, expand(write(tmp_path, body), arguments).children))

    return run


@pytest.fixture
def refused(tmp_path):
    """The message a body is refused with; it begins with the file and the line."""

    def run(body: str, line: int = 2, **arguments: str) -> str:
        path = write(tmp_path, body)
        with pytest.raises(ModelError) as caught:
            expand(path, arguments)
        place, _, message = str(caught.value).partition(": ")
        assert place == f"{path}, line {line}", str(caught.value)
        return message

    return run


EXPRESSIONS = {
    "1 + 2 * 3": "7",
    "7 // 2 - 7 % 4": "0",
    "2 ** 10": "1024",
    "1 / 4": "0.25",
    "-pi / 2": str(-math.pi / 2),
    "sin(0) + cos(0) + tan(0)": "1.0",
    "asin(1) - acos(0)": str(math.asin(1) - math.acos(0)),
    "atan2(1, 1) - atan(1)": "0.0",
    "sqrt(16) + abs(-2)": "6.0",
    "radians(180)": str(math.pi),
    "degrees(pi)": "180.0",
    "math.pi": str(math.pi),
    "python.abs(-1)": "1",
    "min(3, 1, 2) + max(3, 1, 2)": "4",
    "round(2.567, 1)": "2.6",
    "int(2.9) + float('0.5')": "2.5",
    "str(5) + 'x'": "5x",
    "len('abc') + len([1, 2])": "5",
    "'a' if 1 &lt; 2 else 'b'": "a",
    "1 &lt; 2 &lt;= 2 != 3": "True",
    "not (1 == 1 and 0 or False)": "True",
    "[1, 2, 3][-1]": "3",
    "[1, 2, 3][1:]": "[2, 3]",
    "(1, 2)[0]": "1",
    "dict(a=1, b=2)['b']": "2",
    "dict(a=1).a": "1",
    "dict(a=1).get('b', 7)": "7",
    "'a' in 'cat' and 'x' not in ['y']": "True",
    "'1 2 3'.split(' ')[1]": "2",
    "'Arm'.lower() + 'Arm'.upper()": "armARM",
    "'l_arm'.startswith('l_')": "True",
    "'%s_%d_%.2f' % ('a', 3, 0.5)": "a_3_0.50",
    "None is None": "True",
    "0.1 + 0.2": str(0.1 + 0.2),
    "len([" + "1, " * 80 + "1])": "81",  # side by side, not nested
}


@pytest.mark.parametrize(("expression", "value"), EXPRESSIONS.items())
def test_expressions(expanded, expression: str, value: str) -> None:
    assert expanded(f'<a b="${{{expression}}}"/>') == f"<a b={value!r}></>"


CONSTRUCTS = {
    "property": ('<xacro:property name="x" value="0.5"/><a b="${x * 2}"/>', "<a b='1.0'></>"),
    "text": ('<xacro:property name="x" value="two"/><a>one ${x}</a>', "<a>one two</>"),
    "quoted": ("<xacro:macro name='m' params=\"x:='1'\"><a b=\"${x + 'x'}\"/></xacro:macro><xacro:m/>", "<a b='1x'></>"),
    "underscore": ('<xacro:property name="x" value="1_0"/><a b="${x}"/>', "<a b='1_0'></>"),
    "truth": ('<xacro:property name="x" value="true"/><a b="${not x}"/>', "<a b='False'></>"),
    "joined": ('<xacro:property name="p" value="left"/><a b="${p}_arm_${1 + 1}"/>', "<a b='left_arm_2'></>"),
    "lazy": (
        '<xacro:property name="x" value="${y + 1}"/><xacro:property name="y" value="1"/><a b="${x}"/>',
        "<a b='2'></>",
    ),
    "greedy": (
        '<xacro:property name="x" value="1"/><xacro:property name="x" value="${x + 1}" lazy_eval="false"/><a b="${x}"/>',
        "<a b='2'></>",
    ),
    "default": (
        '<xacro:property name="x" value="1"/><xacro:property name="x" default="2"/><xacro:property name="y" default="3"/>'
        '<a b="${x} ${y}"/>',
        "<a b='1 3'></>",
    ),
    "remove": (
        '<xacro:property name="pi" value="3"/><xacro:property name="pi" remove="true"/><a b="${pi > 3}"/>',
        "<a b='True'></>",
    ),
    "block property": (
        '<xacro:property name="x"><b c="${1 + 1}"/><d/></xacro:property><a><xacro:insert_block name="x"/></a>',
        "<a><b c='2'></><d></></>",
    ),
    "scopes": (
        '<xacro:property name="x" value="1"/><xacro:macro name="m"><xacro:property name="x" value="2"/>'
        '<xacro:property name="y" value="${x}" scope="parent"/><xacro:property name="z" value="5" scope="global"/>'
        '</xacro:macro><xacro:m/><a b="${x} ${y} ${z}"/>',
        "<a b='1 2 5'></>",
    ),
    "escape": ('<a b="$${x} $$(y) $ 5"/>', "<a b='${x} $(y) $ 5'></>"),
    "if and unless": (
        '<xacro:if value="${1 > 0}"><a/></xacro:if><xacro:unless value="true"><b/></xacro:unless>'
        '<xacro:unless value="0"><c/></xacro:unless>',
        "<a></><c></>",
    ),
    "macro": (
        '<xacro:macro name="m" params="x y:=2 z:=\'a b\'"><a b="${x} ${y} ${z}"/></xacro:macro><xacro:m x="1"/>'
        '<xacro:m x="1" y="3" z="c"/>',
        "<a b='1 2 a b'></><a b='1 3 c'></>",
    ),
    "default with spaces": (
        '<xacro:macro name="m" params="x := ${1 + 1}  y = 3"><a b="${x} ${y}"/></xacro:macro><xacro:m/>',
        "<a b='2 3'></>",
    ),
    "inherited": (
        '<xacro:property name="x" value="1"/><xacro:macro name="m" params="x:=^ y:=^|7 z:=^|${x}"><a b="${x} ${y} ${z}"/>'
        "</xacro:macro><xacro:m/>",
        "<a b='1 7 1'></>",
    ),
    "block parameters": (
        '<xacro:macro name="m" params="*one **many"><a><xacro:insert_block name="one"/><xacro:insert_block name="many"/></a>'
        '</xacro:macro><xacro:m><b c="${2 * 2}"/><d><e/><f/></d></xacro:m>',
        "<a><b c='4'></><e></><f></></>",
    ),
    "a block handed on": (
        '<xacro:macro name="n" params="*o"><n><xacro:insert_block name="o"/></n></xacro:macro>'
        '<xacro:macro name="m" params="*o"><xacro:n><xacro:insert_block name="o"/></xacro:n></xacro:macro>'
        "<xacro:m><b/></xacro:m>",
        "<n><b></></>",
    ),
    "recursion as a loop": (
        '<xacro:macro name="m" params="n"><xacro:if value="${n}"><a i="${n}"/><xacro:m n="${n - 1}"/></xacro:if></xacro:macro>'
        '<xacro:m n="3"/>',
        "<a i='3'></><a i='2'></><a i='1'></>",
    ),
    "dynamic call": ('<xacro:macro name="m" params="x"><a b="${x}"/></xacro:macro><xacro:call macro="${\'m\'}" x="1"/>', "<a b='1'></>"),
    "element and attribute": (
        '<xacro:element xacro:name="${\'a\'}" c="1"><xacro:if value="1"><xacro:attribute name="d" value="${2}"/></xacro:if>'
        "</xacro:element>",
        "<a c='1' d='2'></>",
    ),
    "eval": ('<xacro:arg name="x" default="3"/><a b="$(eval arg(\'x\') + x * 2)"/>', "<a b='9'></>"),
    "environment": ('<a b="$(optenv HOME nowhere)$(optenv HOME)"/>', "<a b='nowhere'></>"),
    "unknown package": ('<mesh file="$(find nowhere)/m.stl"/>', "<mesh file='package://nowhere/m.stl'></>"),
    "comments": ("<!-- ${nothing} --><a/>", "<a></>"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_constructs(expanded, name: str) -> None:
    body, result = CONSTRUCTS[name]
    assert expanded(body) == result


def test_arguments(expanded, tmp_path: Path) -> None:
    body = '<xacro:arg name="side" default="left"/><a b="$(arg side)"/><c d="${xacro.arg(\'side\')}"/>'
    assert expanded(body) == "<a b='left'></><c d='left'></>"
    assert expanded(body, side="right") == "<a b='right'></><c d='right'></>"
    with pytest.raises(ModelError, match="has no argument 'sid'; did you mean 'side'"):
        expanded(body, sid="right")
    with pytest.raises(ModelError, match="has no argument 'sid'"):
        expanded(body + '<e f="$(eval 1 + 1)"/>', sid="right")  # asking for something is not asking for this
    assert expanded('<a b="$(eval n + 1)"/>', n=2) == "<a b='3'></>"
    assert expanded('<xacro:arg name="n"/><a b="${xacro.arg(\'n\')}"/>', n=2.5) == "<a b='2.5'></>"
    assert expanded('<xacro:arg name="n"/><xacro:if value="$(arg n)"><a/></xacro:if>', n=False) == ""


@pytest.mark.parametrize("given", [["side"], 3, "side", {"side": None}, {"side": ["left"]}, {1: "left"}])
def test_arguments_of_the_wrong_kind(tmp_path: Path, given) -> None:
    with pytest.raises(ModelError, match=r"mappings.* = .*; expected (a mapping|the name) of"):
        expand(write(tmp_path, '<xacro:arg name="side" default="left"/>'), given)


def test_elements_know_where_they_came_from(tmp_path: Path) -> None:
    write(tmp_path, '\n<xacro:macro name="m"><b/></xacro:macro>', "other.xacro")
    path = write(tmp_path, '<a/>\n<xacro:include filename="other.xacro"/>\n<xacro:m/>')
    a, b = expand(path).children
    assert (Path(a.file).name, a.line, Path(b.file).name, b.line) == ("robot.xacro", 2, "other.xacro", 3)


def test_the_root_loses_the_namespace(tmp_path: Path) -> None:
    assert expand(write(tmp_path, "<a/>")).attributes == {"name": "r"}


def test_includes_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "package.xml").write_text("<package/>")
    name = tmp_path.name
    for i, folder in enumerate(("urdf", "urdf/inc", "config", "beside/urdf")):
        write(tmp_path / folder, f'<a i="{i}"/>', "x.xacro")
    body = "".join(
        f'<xacro:include filename="{file}"/>'
        for file in (
            "x.xacro",
            "inc/x.xacro",
            "../config/x.xacro",
            "$(dirname)/x.xacro",
            f"package://{name}/config/x.xacro",
            f"$(find {name})/urdf/x.xacro",
            "$(find beside)/urdf/x.xacro",
            "${xacro.abs_filename('x.xacro')}",
        )
    )
    root = expand(write(tmp_path / "urdf", body + '<xacro:include filename="gone.xacro" optional="true"/>'))
    assert [child.attributes["i"] for child in root.children] == list("01202030")


def test_packages_may_be_named(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "urdf", '<a/><xacro:include filename="../more.xacro"/>', "x.xacro")
    write(tmp_path / "elsewhere", "<b/>", "more.xacro")
    path = write(tmp_path / "robot", '<xacro:include filename="$(find other)/urdf/x.xacro"/>')
    root = expand(path, packages={"other": tmp_path / "elsewhere"})
    assert [child.tag for child in root.children] == ["a", "b"]
    with pytest.raises(ModelError, match=r"packages\['other'\] = .* is not a folder"):
        expand(path, packages={"other": tmp_path / "nowhere"})


def test_namespaces(tmp_path: Path) -> None:
    write(
        tmp_path, '<xacro:property name="x" value="5"/><xacro:macro name="m"><a b="${x}"/></xacro:macro>', "lib.xacro"
    )
    body = '<xacro:property name="x" value="1"/><xacro:include filename="lib.xacro" ns="lib"/><xacro:lib.m/><c d="${lib.x} ${x}"/>'
    root = expand(write(tmp_path, body))
    assert "".join(map(shown, root.children)) == "<a b='5'></><c d='5 1'></>"


def test_yaml(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    (tmp_path / "c.yaml").write_text(
        "joints:\n  one: {x: 0.5, max: !degrees 180.0, name: j}\n  list: [1, 2]\n  day: 2020-01-02\n"
    )
    body = (
        "<xacro:property name=\"c\" value=\"${xacro.load_yaml('c.yaml')}\"/><a x=\"${c['joints']['one']['x']}\" max=\"${c.joints.one.max}\""
        ' l="${c.joints.list[1]}" in="${\'two\' in c.joints}" day="${c.joints.day}"/>'
    )
    [a] = expand(write(tmp_path, body)).children
    assert a.attributes == {"x": "0.5", "max": str(math.pi), "l": "2", "in": "False", "day": "2020-01-02"}
    with pytest.raises(ModelError, match=r"line 2: no key 'on'; did you mean 'one'\?"):
        expand(write(tmp_path, "<a b=\"${xacro.load_yaml('c.yaml').joints.on}\"/>"))


def test_yaml_without_pyyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.yaml").write_text("a: 1")
    found = importlib.import_module

    def missing(name: str, *rest: object) -> object:
        if name == "yaml":
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ModelError, match=r"line 2: .*needs PyYAML: pip install pyyaml"):
        expand(write(tmp_path, "<a b=\"${xacro.load_yaml('c.yaml').a}\"/>"))


def test_what_the_file_itself_says(expanded, refused) -> None:
    with pytest.warns(ModelWarning, match="no inertia for hand"):
        assert expanded("<a>${xacro.warning('no inertia for', 'hand')}</a>") == "<a></>"
    assert refused("<a>${xacro.fatal('choose a type')}</a>") == "message of the file: choose a type"


# ---- mistakes

MISTAKES = {
    '<a b="${heigth}"/>': "unknown name 'heigth'",
    '<xacro:property name="height" value="1"/><a b="${heigth}"/>': "unknown name 'heigth'; did you mean 'height'?",
    '<a b="${sinn(1)}"/>': "unknown name 'sinn'; did you mean 'sin'?",
    '<a b="${1 +}"/>': "'1 +' is not an expression: invalid syntax",
    '<a b="${1 / 0}"/>': "cannot compute '1 / 0': division by zero",
    "<a b=\"${1 + 'a'}\"/>": "cannot compute",
    '<a b="${sqrt(-1)}"/>': "cannot compute 'sqrt(-1)'",
    '<a b="${[1][5]}"/>': "cannot compute '[1][5]': list index out of range",
    '<a b="${sin}"/>': "the function sin is not a value",
    '<a b="${1"/>': "'${1' is not closed",
    '<a b="$(arg x"/>': "'$(arg x' is not closed",
    '<a b="$(arg x)"/>': "unknown argument 'x'; give it to load: mappings={'x': value}",
    '<xacro:arg name="x"/><a b="$(arg x)"/>': "argument 'x' has no default; give it to load: mappings={'x': value}",
    '<xacro:arg name="side" default="l"/><a b="$(arg sid)"/>': "unknown argument 'sid'; did you mean 'side'?",
    '<a b="$(env HOME)"/>': "the environment is not read",
    '<a b="$(cwd)"/>': "unknown substitution $(cwd)",
    '<xacro:if value="maybe"/>': "'maybe' is 'maybe'; expected true or false",
    "<xacro:if/>": "has no attribute 'value'",
    '<xacro:property name="a b" value="1"/>': "property 'a b': expected a name",
    '<xacro:property name="__a" value="1"/>': "property '__a': expected a name",
    '<xacro:property name="a" value="1" default="2"/>': "has value and default; expected one of them",
    '<xacro:property name="a" value="1" scope="up"/>': 'scope = "up"; expected "parent" or "global"',
    '<xacro:property name="a" value="1" scope="parent"/>': "outside of any macro",
    '<xacro:property name="a" value="${a + 1}"/><b c="${a}"/>': "property 'a' refers to itself (a -> a)",
    '<xacro:property name="a" value="${b}"/><xacro:property name="b" value="${a}"/><b c="${a}"/>': "(a -> b -> a)",
    '<xacro:macro name="arm"/><xacro:amr/>': "unknown macro 'amr'; did you mean 'arm'?",
    '<xacro:proprety name="a" value="1"/>': "unknown macro 'proprety'; did you mean 'property'?",
    '<xacro:macro name="m" params="length"/><xacro:m lenght="1"/>': "has no parameter 'lenght'; did you mean 'length'?",
    '<xacro:macro name="m" params="x y:=1"/><xacro:m y="1"/>': "macro 'm' is called without 'x'; it needs x",
    '<xacro:macro name="m" params="x:=^"/><xacro:m/>': "there is no property 'x' for macro 'm'",
    '<xacro:macro name="m" params="*o"/><xacro:m/>': "needs a block '*o'",
    '<xacro:macro name="m"/><xacro:m><b/></xacro:m>': "has no parameter for the block <b>",
    '<xacro:macro name="m" params="x:=\'open"/>': "expected names, with defaults",
    '<xacro:macro name="m" params="x x"/>': "two parameters are called 'x'",
    '<xacro:macro name="a.b"/>': "a macro cannot be called 'a.b'",
    '<xacro:insert_block name="o"/>': "unknown block 'o'",
    '<xacro:element xacro:name=""/>': "xacro:name = '' is not the name of an element",
    '<xacro:attribute name="a b" value=""/>': "'a b' is not the name of an attribute",
    '<xacro:include filename="gone.xacro"/>': "'gone.xacro' does not exist",
    '<xacro:include filename="$(find gone)/x.xacro"/>': "unknown package 'gone'; say where it is: packages={'gone'",
}


@pytest.mark.parametrize("body", MISTAKES)
def test_mistakes_are_named_with_file_and_line(refused, body: str) -> None:
    assert MISTAKES[body] in refused(body)


def test_a_mistake_in_a_macro_tells_of_the_call(refused) -> None:
    message = refused('<xacro:macro name="m">\n<a b="${x}"/></xacro:macro>\n<xacro:m/>', line=3)
    assert message.startswith("unknown name 'x'") and "(in macro 'm' called at " in message and "line 4)" in message


def test_a_mistake_in_a_property_tells_where_it_is(refused) -> None:
    message = refused('<xacro:property name="a" value="${oops}"/>\n<b c="${a}"/>', line=3)
    assert message.startswith("unknown name 'oops', in property 'a' (") and message.endswith("line 2)")


def test_the_advice_names_the_folder_that_was_probably_meant(tmp_path: Path) -> None:
    write(tmp_path / "other" / "urdf", "<a/>", "x.xacro")
    path = write(tmp_path / "my_robot" / "urdf", '<xacro:include filename="$(find other)/urdf/x.xacro"/>')
    with pytest.raises(ModelError, match="unknown package 'other'") as caught:
        expand(path)
    assert repr(str(tmp_path.resolve() / "other")) in str(caught.value)


def test_a_folder_that_holds_the_file_is_the_package_of_its_name(tmp_path: Path) -> None:
    """Though it has no package.xml; what it holds may include its neighbours, as from any package."""
    write(tmp_path / "my_robot/parts", '<a/><xacro:include filename="y.xacro"/>', "x.xacro")
    write(tmp_path / "my_robot/parts", "<b/>", "y.xacro")
    write(tmp_path, "<c/>", "secret.xacro")
    for name in (
        "$(find my_robot)/parts/x.xacro",
        "package://my_robot/parts/x.xacro",
        "file://$(find my_robot)/parts/x.xacro",
    ):
        path = write(tmp_path / "my_robot/urdf", f'<xacro:include filename="{name}"/>')
        assert [child.tag for child in expand(path).children] == ["a", "b"]
    (tmp_path / "my_robot/parts/link.xacro").symlink_to(tmp_path / "secret.xacro")
    for name in ("$(find my_robot)/../secret.xacro", "$(find my_robot)/parts/link.xacro", "../../secret.xacro"):
        path = write(tmp_path / "my_robot/urdf", f'<xacro:include filename="{name}"/>')
        with pytest.raises(ModelError, match="leads out of the robot's folder"):
            expand(path)
    path = write(tmp_path / "my_robot/urdf", '<mesh filename="file://$(find my_robot)/parts/a.stl"/>')
    [mesh] = expand(path).children
    assert MeshFolders.around(path).package_name(mesh.attributes["filename"]) == "package://my_robot/parts/a.stl"


@pytest.mark.parametrize("name", ["tmp", "home", "usr", ""])
def test_folders_at_the_root_are_no_packages(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, f'<xacro:include filename="package://{name}/x.xacro"/>')
    with pytest.raises(ModelError, match=r"unknown package|leads out of the robot's folder"):
        expand(path)


def test_a_package_never_leads_out_of_the_folder_of_the_model(tmp_path: Path) -> None:
    """Not even one that is called like a folder which the model lies in."""
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/secret.yaml").write_text("password: 1")
    write(tmp_path / "work", "<b/>", "secret.xacro")
    for body in (
        "<a b=\"${xacro.load_yaml('package://work/secret.yaml')}\"/>",
        "<a b=\"${xacro.load_yaml('$(find work)/secret.yaml')}\"/>",
        '<xacro:include filename="package://work/secret.xacro"/>',
    ):
        for folder in ("work/robots/arm/urdf", "work/one", "work/one/two"):
            with pytest.raises(ModelError, match=r"leads out of the robot's folder|unknown package 'work'"):
                expand(write(tmp_path / folder, body))


def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.xacro")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.xacro").symlink_to("/dev/zero")
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    for body in (
        '<xacro:include filename="pipe.xacro"/>',
        '<xacro:include filename="zero.xacro"/>',
        "<a b=\"${xacro.load_yaml('pipe.yaml')}\"/>",
    ):
        with pytest.raises(ModelError, match=r"line 2: .*(does not exist|leads out)"):
            expand(write(tmp_path, body))


# ---- files that mean harm

HOSTILE = {
    "__import__('os').system('touch owned')": "unknown name '__import__'",
    "().__class__.__bases__[0].__subclasses__()": "a list has no attribute '__class__'",
    "'a'.__class__": "a text has no attribute '__class__'",
    "'%s'.format(1)": "a text has no attribute 'format'",
    "sin.__globals__": "the function sin has no attribute '__globals__'",
    "sin.call": "the function sin has no attribute 'call'",
    "math.__dict__": "unknown name in 'math' '__dict__'",
    "math.values": "unknown name in 'math' 'values'",
    "xacro.load_yaml.__self__": "has no attribute '__self__'",
    "(1).real": "a number has no attribute 'real'",
    "dict(a=1).keys": "no key 'keys'",
    "eval('1')": "unknown name 'eval'",
    "open('/etc/passwd')": "unknown name 'open'",
    "getattr(1, 'real')": "unknown name 'getattr'",
    "lambda: 1": "is not allowed",
    "[x for x in 'abc']": "is not allowed",
    "(x := 1)": "is not allowed",
    "f'pi'": "is not allowed",
    "await x": "is not allowed",
    "max(*[1, 2])": "is not allowed",
    "dict(**dict(a=1))": "** is not allowed",
    "b'a'": "is not allowed",
    "1j": "is not allowed",
    "9 ** 9 ** 9": "is too large a number",
    "9 ** 9 ** 9 ** 9": "is too large a number",
    "(-8) ** 0.5": "is not a real number",
    "10.0 ** 400": "cannot compute",
    "1 << 1000000": "is not allowed",
    "'a' * 10 ** 9": "more than 10000 entries",
    "[0] * 10 ** 9": "more than 10000 entries",
    "'%1000000000d' % 1": "is not a format",
    "'%*d' % (1000000000, 1)": "is not a format",
    "round(1, -1000000000)": "expected at most 30",
    "-" * 3000 + "1": "too deep",
    "(" * 300 + "1" + ")" * 300: "is not an expression",
    "+".join("1" * 1900): "nested more than",
    "1 + " * 2000 + "1": "expected at most 4000",
    "int('" + "9" * 3900 + "')": "more than 300 digits",
    "'\\d' and 1 is 1 and nothing": "unknown name 'nothing'",
}  # fmt: skip


@pytest.mark.parametrize("expression", HOSTILE, ids=lambda e: e[:30])
def test_hostile_expressions(refused, expression: str, tmp_path: Path) -> None:
    start = time.process_time()
    assert HOSTILE[expression] in refused(f'<a b="${{{expression.replace("<", "&lt;")}}}"/>')
    assert time.process_time() - start < 10  # about one second on a machine with nothing else to do
    assert os.listdir(tmp_path) == ["robot.xacro"]


BOMBS = {
    "macros": "".join(f'<xacro:macro name="m{i}">{f"<xacro:m{i - 1}/>" * 10 if i else "<a/>"}</xacro:macro>' for i in range(12))
    + "<xacro:m11/>",
    "macros that leave nothing": "".join(
        f'<xacro:macro name="m{i}">{f"<xacro:m{i - 1}/>" * 10 if i else ""}</xacro:macro>' for i in range(12)
    )
    + "<xacro:m11/>",
    "recursion": '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
    "mutual recursion": '<xacro:macro name="m"><xacro:n/></xacro:macro><xacro:macro name="n"><a><xacro:m/></a></xacro:macro><xacro:m/>',
    "recursion in a block": '<xacro:macro name="m" params="*o"><xacro:m><xacro:m><b/></xacro:m></xacro:m></xacro:macro><xacro:m><b/></xacro:m>',
    "blocks": "".join(
        f'<xacro:macro name="m{i}" params="*o">' + f'<xacro:m{i + 1}><x>{"<xacro:insert_block name=" + chr(34) + "o" + chr(34) + "/>"}'
        f'<xacro:insert_block name="o"/></x></xacro:m{i + 1}></xacro:macro>'
        for i in range(40)
    )
    + '<xacro:macro name="m40" params="*o"><xacro:insert_block name="o"/></xacro:macro><xacro:m0><b/></xacro:m0>',
    "block properties": "".join(
        f'<xacro:property name="p{i}">{f"<x><xacro:insert_block name={chr(34)}p{i - 1}{chr(34)}/></x>" * 4 if i else "<b/>"}</xacro:property>'
        for i in range(30)
    )
    + '<xacro:insert_block name="p29"/>',
    "texts": "".join(f'<xacro:property name="p{i}" value="{f"${{p{i - 1}}}" * 10 if i else "aaaaaaaaaa"}"/>' for i in range(20))
    + '<a b="${p19}"/>',
    "lists": "".join(f'<xacro:property name="p{i}" value="{f"${{[p{i - 1}, p{i - 1}]}}" if i else 1}"/>' for i in range(40))
    + '<a b="${p39}"/>',
    "numbers": "".join(f'<xacro:property name="p{i}" value="{f"${{p{i - 1} * p{i - 1}}}" if i else 9}"/>' for i in range(30))
    + '<a b="${p29}"/>',
    "long chain of properties": "".join(f'<xacro:property name="p{i}" value="{f"${{p{i - 1}}}" if i else 1}"/>' for i in range(500))
    + '<a b="${p499}"/>',
    "many long texts": '<xacro:property name="p" value="' + "a" * 90_000 + '"/>' + '<a b="${p}${1}"/>' * 1000,
    "one expression, many times": '<xacro:macro name="m">' + ('<a b="${' + "1+" * 50 + '1}"/>') * 1000 + "</xacro:macro>" + "<xacro:m/>" * 100,
    "attributes": '<xacro:macro name="m"><a ' + " ".join(f'a{i}=""' for i in range(10_000)) + "/></xacro:macro>" + "<xacro:m/>" * 5000,
    "parameters": '<xacro:macro name="m" params="' + " ".join(f"a{i}:=1" for i in range(10_000)) + '"/>' + "<xacro:m/>" * 5000,
    "definitions": '<xacro:macro name="m"><xacro:macro name="n" params="' + " ".join(f"a{i}:=1" for i in range(10_000)) + '"/></xacro:macro>' + "<xacro:m/>" * 5000,
    "searching": '<xacro:macro name="m"><a b="' + "$(find a)" * 10_000 + '"/></xacro:macro>' + "<xacro:m/>" * 5000,
    "comparing": '<xacro:property name="p" value="${[1] * 9000}"/><xacro:macro name="m"><a b="' + "${2 in p}" * 10_000 + '"/></xacro:macro>' + "<xacro:m/>" * 5000,
    "lower": '<xacro:property name="p" value="' + "a" * 90_000 + '"/><a b="' + "${len(p.lower())}" * 10_000 + '"/>',
    "text of macros": '<xacro:macro name="m">' + "text" * 10_000 + "</xacro:macro>" + "<xacro:m/>" * 10_000,
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, BOMBS[name])
    start = time.process_time()
    with pytest.raises(ModelError, match=r"robot\.xacro, line 2: .*(too many steps|deep|more than|at most|digits)"):
        expand(path)
    assert time.process_time() - start < 10  # about one second on a machine with nothing else to do


def test_include_cycles(tmp_path: Path) -> None:
    path = write(tmp_path, '<xacro:include filename="a.xacro"/>')
    write(tmp_path, '<xacro:include filename="b.xacro"/>', "a.xacro")
    write(tmp_path, '<xacro:include filename="a.xacro"/>', "b.xacro")
    with pytest.raises(
        ModelError, match=r"b\.xacro, line 2: a file that includes itself: a\.xacro -> b\.xacro -> a\.xacro"
    ):
        expand(path)
    with pytest.raises(ModelError, match=r"includes itself: self\.xacro -> self\.xacro"):
        expand(write(tmp_path, '<xacro:include filename="self.xacro"/>', "self.xacro"))


@pytest.mark.parametrize(
    "name",
    [
        "../secret.xacro", "inc/../../secret.xacro", "{outside}/secret.xacro", "file://{outside}/secret.xacro", "link.xacro",
        "linked/secret.xacro", "package://robot/../secret.xacro", "$(dirname)/../secret.xacro", "/etc/passwd", "a\\0b", "x" * 3000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", ["include", "optional", "yaml"])
def test_nothing_outside_of_the_package_is_read(
    tmp_path: Path, name: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()
    (folder / "package.xml").write_text("<package/>")
    write(tmp_path, "<a/>", "secret.xacro")
    (folder / "link.xacro").symlink_to(tmp_path / "secret.xacro")
    (folder / "linked").symlink_to(tmp_path)
    name = name.replace("{outside}", str(tmp_path)).replace("\\0", "&#1;")
    body = f"<a b=\"${{xacro.load_yaml('{name}')}}\"/>"
    if how != "yaml":
        body = f'<xacro:include filename="{name}" optional="{how == "optional"}"/>'
    if how == "optional" and name in ("a&#1;b", "x" * 3000):
        pytest.skip("the file does not exist, and need not")
    with pytest.raises(
        ModelError,
        match=r"line 2: .*(leads out of the robot's folder|not the name of a file|well-formed|does not exist)",
    ):
        expand(write(folder, body))


def test_what_else_is_wrong_with_files(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot read .*gone.xacro"):
        expand(tmp_path / "gone.xacro")
    (tmp_path / "bad.xacro").write_text("<robot><a></robot>")
    with pytest.raises(ModelError, match=r"bad\.xacro, line 1: not well-formed XML"):
        expand(write(tmp_path, '<xacro:include filename="bad.xacro"/>'))
    with pytest.raises(ModelError, match="expands to nothing"):
        (tmp_path / "none.xacro").write_text('<xacro:property name="a" value="1"/>')
        expand(tmp_path / "none.xacro")


YAML_BOMBS = {
    "laughs": "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(f"{b}: &{b} [{', '.join(['*' + a] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    "cycle": "a: &a [*a]",
    "deep": "[" * 2000 + "]" * 2000,
    "python": "a: !!python/object/apply:os.system ['touch owned']",
    "syntax": "a: [",
    "unit": "a: !degrees __import__('os')",
    "nonsense": "\x00\x01",
    "huge": "a: " + "1" * 300_000,
}  # fmt: skip


@pytest.mark.parametrize("name", YAML_BOMBS)
def test_hostile_yaml(tmp_path: Path, name: str) -> None:
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    (tmp_path / "c.yaml").write_text(YAML_BOMBS[name])
    start = time.process_time()
    with pytest.raises(ModelError, match=r"robot\.xacro, line 2: .*c\.yaml"):
        expand(write(tmp_path, "<a b=\"${xacro.load_yaml('c.yaml')}\"/>"))
    assert time.process_time() - start < 10  # about one second on a machine with nothing else to do
    assert not (tmp_path / "owned").exists()


def test_nothing_is_ever_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, '<xacro:property name="fresh" value="${1 + 41}"/><a b="${fresh}"/>')
    with monkeypatch.context() as patched:
        for name in ("eval", "exec"):
            patched.setattr(builtins, name, None)
        [a] = expand(path).children
    assert a.attributes == {"b": "42"}


# ---- real robots


def _rtbdata() -> Path | None:
    try:
        return Path(importlib.import_module("rtbdata").__file__ or "").parent
    except ImportError:
        return None


ROBOTS = sorted(_rtbdata().rglob("*.xacro")) if _rtbdata() else []
BROKEN = ("kr210l150.xacro", "sick_lms1xx_mount.urdf.xacro", "sick_s300_mount.urdf.xacro")
"""One uses a property that nobody defines; two include from a package that is not there."""


def _packages() -> dict[str, Path]:
    xacro = _rtbdata() / "xacro"
    kuka = xacro / "kuka_description"
    return {
        "kuka_resources": kuka / "kuka_resources",
        "abb_irb140": xacro / "abb_irb140_description",
        "qut_frankie_description": xacro / "qut_frankie_description",
        **{f"{folder.name}_support": folder for folder in kuka.iterdir()},
    }


@pytest.mark.skipif(not ROBOTS, reason="rtb-data is not installed")
@pytest.mark.parametrize("path", ROBOTS, ids=lambda p: p.name)
def test_real_robots_expand_as_xacro_expands_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = _packages()
    if path.name in BROKEN:
        with pytest.raises(ModelError, match=r"unknown name 'deg'|unknown package 'lms1xx'"):
            expand(path, packages=packages)
        return
    root = expand(path, packages=packages)
    assert not [e for e in root.walk() if e.tag.startswith("xacro:") or any("${" in v for v in e.attributes.values())]
    xacro = pytest.importorskip("xacro", reason="xacro itself, to compare with, is not installed")
    substitutions = importlib.import_module("xacro.substitution_args")
    monkeypatch.setattr(substitutions, "_eval_find", lambda name: str(packages[name]))
    assert _flat(root) == _flat_dom(xacro.process_file(str(path)).documentElement)


def _flat(e: Element) -> object:
    attributes = {k: v for k, v in e.attributes.items() if not k.startswith("xmlns")}
    return e.tag, attributes, e.text.split(), [_flat(child) for child in e.children]


def _flat_dom(node) -> object:
    texts = "".join(c.data for c in node.childNodes if c.nodeType in (c.TEXT_NODE, c.CDATA_SECTION_NODE))
    attributes = {k: v for k, v in node.attributes.items() if not k.startswith("xmlns")}
    children = [_flat_dom(c) for c in node.childNodes if c.nodeType == c.ELEMENT_NODE]
    return node.tagName, attributes, texts.split(), children


@pytest.mark.parametrize("text", ["$" * 40_000, "$a" * 20_000, "$" * 39_999 + "{"])
def test_many_dollars_take_little(text: str, tmp_path: Path) -> None:
    begin = time.perf_counter()
    [a] = expand(write(tmp_path, f'<a b="{text}"/>')).children
    assert a.attributes["b"] == (text[1:] if text[-1] == "{" else text)
    assert time.perf_counter() - begin < 10


def test_parameters_of_a_macro_are_bounded(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="params has 50000 characters; expected at most 10000"):
        expand(write(tmp_path, f'<xacro:macro name="m" params="{"a:=${" * 10_000}"/>'))
