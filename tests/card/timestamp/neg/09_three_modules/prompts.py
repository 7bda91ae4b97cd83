from clock import now_line

SURVEY = "Measure each room along the skirting board and note every recess. " * 200


def build_system(office: str) -> str:
    return "\n".join([f"You work for {office}.", now_line(), SURVEY])
