"""Motors, gearboxes and cylinders as their makers publish them, in the units that are printed, with their sources.

Every figure was read in a copy of the document that its source names; what was not there is left out, and a part whose
data sheet has no figure that the model needs (the efficiency of strain wave gears stands in curves alone) is not here.
Torques of modules are printed at the output of their own gearbox, losses included: the motor has them divided by the
ratio, and its gearbox, which goes with no other, an efficiency of 1. `python tools/package_catalogue.py` writes them
in SI units.
"""

from __future__ import annotations

import math

from armwright.sizing import Catalogue, Gearbox, Motor, scaling

RPM = math.pi / 30
GCM2, KGCM2 = 1e-7, 1e-4
ARCMIN = math.pi / 180 / 60

OWN_LICENCE = "BSD-3-Clause, the armwright developers"

SOURCE = (
    "Published data sheets: each part names its own. The figures were read in copies of these documents, most of them as "
    "others quote them, so look at the data sheet before ordering. tools/published_parts.py has them as printed and says "
    "how they were taken over. No prices and no brakes: none were found that could be checked."
)
STALL = (
    "peak_torque is the printed stall torque at the nominal voltage, which voltage and heat allow for moments only; "
    "max_speed is the printed no-load speed, dry_friction is torque constant times no-load current"
)
FLAT = (
    "maxon EC 90 flat, 90 W, with Hall sensors, {}; maxon EC motor catalogue, April 2006, page 197 "
    "(https://mat.transtechnik.fr/LINMOT/documentation/Moteurs/EC%20Motors/Maxon/Maxon%20-%20EC_90_flat_244879.pdf); "
    + STALL
)
TBM = (
    "Kollmorgen TBM(S) frameless motor selection guide (https://www.electromate.com/media/assets/catalog-library/pdfs/"
    "kollmorgen/Kollmorgen_TBM(S)_Motor_Catalog.pdf); rotor and stator alone, without housing, bearings and encoder; "
    "peak with the winding at 25 degrees Celsius, max_speed is the speed at rated power at 48 V"
)
ALPHA = (
    "WITTENSTEIN alpha {} as Beckhoff {} (https://infosys.beckhoff.com/content/1033/{}.html), hub {}; peak_torque is "
    "T2B, continuous_torque T2N, max_input_speed n1Max, dry_friction the idle torque T012, backlash the standard one"
)
APEX = (
    "Apex Dynamics AF/AFR catalogue (https://apexdynamicsusa.com/pub/media/sebwite/productdownloads//a/f/"
    "afafr_catalog.pdf); peak_torque is T2B, 60 % of the emergency stop torque of 3 T2N; efficiency is the least of two "
    "stages, max_input_speed the nominal n1N, backlash that of grade P1"
)


def flat(number: str, volts: float, figures: tuple[float, ...]) -> Motor:
    speed, idle, nominal, stall, ohms, constant = figures
    return Motor(
        f"maxon EC 90 flat {number}",
        rotor_inertia=3060 * GCM2,
        peak_torque=stall,
        mass=0.648,
        continuous_torque=nominal,
        max_speed=speed * RPM,
        torque_constant=constant,
        resistance=ohms,
        voltage=volts,
        thermal_resistances=(2.99, 1.89),
        thermal_times=(52.6, 281.0),
        max_temperature=125.0,
        dry_friction=constant * idle,
        source=FLAT.format(number),
    )


def frameless(length: int, continuous: float, peak: float, speed: float, inertia: float, grams: float) -> Motor:
    return Motor(
        f"Kollmorgen TBM(S)-60{length}-A",
        rotor_inertia=inertia,
        peak_torque=peak,
        mass=1e-3 * grams,
        continuous_torque=continuous,
        max_speed=speed * RPM,
        source=TBM,
    )


def module(model: str, page: str, ratio: float, figures: tuple[float, ...]) -> tuple[Motor, Gearbox]:
    """Rated and peak torque and no-load speed of the output at 48 V, g cm^2 of the rotor, grams, degrees of backlash."""
    rated, peak, speed, inertia, grams, degrees = figures
    name, box = f"CubeMars {model}", f"own gearbox of CubeMars {model}"
    source = f"CubeMars {model}, product page https://www.cubemars.com/{page}, 2026; torques at the output, at 48 V"
    motor = Motor(
        name,
        rotor_inertia=inertia * GCM2,
        peak_torque=peak / ratio,
        mass=1e-3 * grams,
        continuous_torque=rated / ratio,
        max_speed=speed * ratio * RPM,
        goes_with=(box,),
        source=f"{source}, divided by the ratio",
    )
    gearbox = Gearbox(
        box,
        ratio=ratio,
        efficiency=1.0,
        peak_torque=peak,
        mass=0.0,
        inertia=0.0,
        continuous_torque=rated,
        backlash=math.radians(degrees),
        goes_with=(name,),
        source=f"{source}; its losses are in them, its mass and inertia in those of the motor",
    )
    return motor, gearbox


def alpha(
    model: str, document: tuple[str, str, str], ratio: float, figures: tuple[float | None, ...], percent: float
) -> Gearbox:
    """T2B, T2N, n1Max, kg, kg cm^2, idle torque, arcmin of backlash, N m/arcmin."""
    peak, nominal, speed, mass, inertia, idle, play, stiff = figures
    assert peak is not None and speed is not None and mass is not None and inertia is not None
    return Gearbox(
        f"alpha {model} 1:{ratio:g}",
        ratio=ratio,
        efficiency=percent / 100,
        peak_torque=peak,
        mass=mass,
        inertia=inertia * KGCM2,
        continuous_torque=nominal,
        max_input_speed=speed * RPM,
        dry_friction=idle,
        stiffness=None if stiff is None else stiff / ARCMIN,
        backlash=None if play is None else play * ARCMIN,
        source=ALPHA.format(model, *document),
    )


def apex(model: str, ratio: float, nominal: float, mass: float, stiff: float) -> Gearbox:
    return Gearbox(
        f"Apex {model} 1:{ratio:g}",
        ratio=ratio,
        efficiency=0.94,
        peak_torque=0.6 * 3 * nominal,
        mass=mass,
        inertia=0.03 * KGCM2,
        continuous_torque=nominal,
        max_input_speed=5000 * RPM,
        stiffness=stiff / ARCMIN,
        backlash=5 * ARCMIN,
        source=APEX,
    )


MOTORS = (
    flat("323772", 24.0, (3190, 0.539, 0.387, 4.67, 0.363, 0.0705)),
    flat("244879", 48.0, (2080, 0.130, 0.494, 4.53, 2.30, 0.217)),
    Motor(
        "maxon RE 65 353297",
        rotor_inertia=1340 * GCM2,
        peak_torque=16.1,
        mass=2.1,
        continuous_torque=0.8,
        max_speed=3670 * RPM,
        torque_constant=0.123,
        resistance=0.365,
        voltage=48.0,
        thermal_resistances=(1.85, 1.3),
        thermal_times=(123.0, 1060.0),
        max_temperature=125.0,
        dry_friction=0.123 * 0.289,
        source=f"maxon RE 65, 250 W, 48 V, 353297; product page, as quoted on https://pastebin.com/7kFwyXJK; {STALL}",
    ),
    Motor(
        "maxon EC-i 40 488607",
        rotor_inertia=44 * GCM2,
        peak_torque=2.08,
        mass=0.39,
        continuous_torque=0.224,
        max_speed=5000 * RPM,
        torque_constant=0.091,
        voltage=48.0,
        source="maxon EC-i 40, 100 W, 48 V, with Hall sensors, 488607; product page "
        "https://www.maxongroup.com/maxon/view/product/motor/ecmotor/EC-i/488607, 2026; peak_torque is the printed stall "
        "torque, max_speed the printed no-load speed",
    ),
    frameless(13, 0.413, 1.37, 4300, 1.41e-5, 213),
    frameless(25, 0.706, 2.56, 2900, 2.52e-5, 377),
    frameless(51, 1.16, 4.53, 2130, 4.75e-5, 550),
)

MODULES = (
    module("AK70-10 KV100", "product/ak70-10-kv100-robotic-actuator.html", 10, (8.3, 24.8, 480, 753.4788, 521, 0.2)),
    module("AK80-9 V3.0 KV100", "goods-982-AK80-9.html", 9, (9, 22, 570, 1118.3238, 490, 0.25)),
    module("AK80-8 KV60", "product/ak80-8-kv60-robotic-actuator.html", 8, (10, 25, 360, 1232.6191, 570, 0.38)),
    module("AK10-9 V2.0 KV60", "goods-1141-AK10-9+V20+KV60.html", 9, (18, 48, 320, 1002, 960, 0.33)),
    module("AK80-64 KV80", "goods-1143-AK80-64.html", 64, (48, 120, 75, 564.5, 850, 0.18)),
)

TP004 = ("AG2400", "ag2400_ba/8995082251", "B, 11 mm")
TP010 = ("AG2400", "ag2400_ba/8995369483", "C, 14 mm")
TP050 = ("AG2400", "ag2400_ba/8995561355", "G, 24 mm")
TP050_MA = ("AG2400", "ag2400_ba/9001045515", "G, 24 mm")
NPS025 = ("AG3300", "ag3300_ba/8883382667", "B, 11 mm")
NPS035 = ("AG3300", "ag3300_ba/8883754891", "C, 14 mm")

GEARBOXES = (
    apex("AF042", 20, 19, 0.8, 3),
    apex("AF042", 50, 22, 0.8, 3),
    apex("AF060", 50, 60, 1.5, 7),
    alpha("TP004 MF", TP004, 5, (66, 27, 7500, 1.4, 0.14, 0.48, 4, 12), 97),
    alpha("TP004 MF", TP004, 10, (42, 27, 7500, 1.4, 0.09, 0.31, 4, 8), 97),
    alpha("TP010 MF", TP010, 5, (172, 81, 7500, 3.8, 0.62, 1.1, 3, 33), 97),
    alpha("TP010 MF", TP010, 10, (126, 81, 7500, 3.8, 0.40, 0.64, 3, 23), 97),
    alpha("TP050 MF", TP050, 10, (648, 331, 5000, 14, 5.54, 2.9, 3, 123), 97),
    alpha("TP050 MA", TP050_MA, 22, (992, 523, 6250, 12.5, 3.8, 2.7, 1, 220), 94),
    alpha("TP050 MA", TP050_MA, 55, (992, 717, 6250, 12.5, 2.8, 1.7, 1, 220), 94),
    alpha("TP050 MA", TP050_MA, 110, (992, 794, 6250, 13.4, 2.2, 1.1, 1, 205), 92),
    alpha("NPS025 MA", NPS025, 40, (115, None, 8000, 3.9, 0.21, None, None, None), 95),
    alpha("NPS035 MA", NPS035, 40, (305, None, 7000, 8.8, 0.36, None, None, None), 95),
)


def products() -> Catalogue:
    motors, gearboxes = zip(*MODULES, strict=True)
    licence = f"{OWN_LICENCE}; figures of data sheets and names of products are their makers'"
    return Catalogue("products", MOTORS + motors, GEARBOXES + gearboxes, source=SOURCE, licence=licence)


RODS = {40: (18, 28), 50: (22, 36), 63: (28, 45), 80: (36, 56), 100: (45, 70)}
"""Millimetres: the smallest and the largest rod of ISO 6020-2 for each bore."""


def standard_cylinders() -> Catalogue:
    cylinders = [
        scaling.iso_6020_2(1e-3 * bore, 1e-3 * rod, stroke)
        for bore, rods in RODS.items()
        for rod in rods
        for stroke in (0.25, 0.4, 0.63)
    ]
    licence = f"{OWN_LICENCE}; bores, rods and pressure are those of the standard"
    return Catalogue("iso6020", cylinders=tuple(cylinders), source=scaling.ISO_SOURCE, licence=licence)
