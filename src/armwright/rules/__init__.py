"""The one book of rules: what is suspicious in a link, a joint or a robot, each said once.

problems(robot)     applies it to a robot; `load` warns of what it finds, and `armwright show` prints it
broken(facts)       applies it to one body, joint or robot, wherever the facts are from: `check` takes them from a file
RULES, KINDS        the book itself
"""

from armwright.rules.book import KINDS, RULES, SIZED, Rule, broken, fair
from armwright.rules.facts import AngleFacts, BodyFacts, JointFacts, RobotFacts
from armwright.rules.problem import SEVERITIES, Problem, accepted, check_accepted
from armwright.rules.robot import problems

__all__ = [
    "KINDS",
    "RULES",
    "SEVERITIES",
    "SIZED",
    "AngleFacts",
    "BodyFacts",
    "JointFacts",
    "Problem",
    "RobotFacts",
    "Rule",
    "accepted",
    "broken",
    "check_accepted",
    "fair",
    "problems",
]
