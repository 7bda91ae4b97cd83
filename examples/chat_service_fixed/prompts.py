"""The texts that steer the assistant."""

from __future__ import annotations

from pathlib import Path

from . import context

MANUAL = (Path(__file__).parent / "texts" / "manual.md").read_text(encoding="utf-8")

ESTIMATE = """
You write estimates for the workshop. Read the complaint, name the work that is likely to be needed, and give the price
of each item from the handbook and the total with tax. List at most four items. Mark what can only be decided on the
stand. Never promise a day.
"""

ROUTER = """
Sort the question of a customer of a bicycle shop into one of: chat, estimate, data_sheet. Answer with that word only.
An estimate is asked for when a price for a repair is wanted. A data sheet answers questions on weights, fits and sizes.
"""

SHEETS = {
    "brakes": "Disc brakes: pads S03 fit Stil 1 to 4, pads S05 fit Stil 5 and Last. Rotors are 160 mm, on Last 180 mm.",
    "drivetrain": "Belt: 118 teeth on Stil with 55 in front. Chain: 1/2 x 3/32 inch, 112 links on Tur, 136 on Last.",
    "wheels": "Tyres: 47-622 on Stil, 40-622 on Tur, 55-406 in front and 55-507 at the rear on Last. Spokes: 14 gauge.",
    "electrics": "Batteries: P4 with 418 Wh on Stil E, P6 with 625 Wh on Last E. Charger C2 fits both, 2 A, IP 54.",
    "weights": "Weights: Stil 15.2 kg, Stil E 22.4 kg, Tur 13.1 kg, Last 34 kg, Last E 41 kg, each without luggage.",
    "loads": "Loads: carrier 25 kg on Stil and Tur, box 100 kg on Last. In all with rider 140 kg, on Last 220 kg.",
}


def build_system() -> str:
    """The system text of the desk assistant."""
    return f"{context.header()}\n\n{MANUAL}"
