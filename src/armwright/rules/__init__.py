"""The rules that find suspicious numbers of a link, a joint or a robot.

problems(robot)        applies them to a robot; `load` warns of the problems, and `armwright show` prints them
find_problems(facts)   applies them to bodies, joints or robots, also to those that `check` reads from a file
RULES                  all rules by name, to which `armwright.register("rule", name, Rule(...))` adds
"""

from armwright.former_names import add_former_names
from armwright.rules.apply import problems
from armwright.rules.facts import AngleFacts, BodyFacts, JointFacts, RobotFacts
from armwright.rules.problem import SEVERITIES, Doubt, Problem, Rule, accepted, check_accepted
from armwright.rules.rule import LENGTH_KINDS, RULES, find_problems, kinds, without_consequences

__all__ = [
    "LENGTH_KINDS",
    "RULES",
    "SEVERITIES",
    "AngleFacts",
    "BodyFacts",
    "Doubt",
    "JointFacts",
    "Problem",
    "RobotFacts",
    "Rule",
    "accepted",
    "check_accepted",
    "find_problems",
    "kinds",
    "problems",
    "without_consequences",
]

add_former_names(__name__, KINDS="kinds()", SIZED="LENGTH_KINDS", broken="find_problems", fair="without_consequences")
