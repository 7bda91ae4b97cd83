class Plugin:
    name = ""
    about = ""

    def spec(self) -> dict:
        return {"type": "function", "function": {"name": self.name, "description": self.about}}


class Cone(Plugin):
    name = "cone"
    about = "Temperature at which a cone bends."


class Glaze(Plugin):
    name = "glaze"
    about = "Recipe of a glaze."


class Firing(Plugin):
    name = "firing"
    about = "Firing curve of a clay."


INSTALLED = (Cone, Glaze, Firing)
