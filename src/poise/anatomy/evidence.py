"""Evidence: combine names and shape into the frame of each role, and record disagreements.

Names of a known tool are used as they are. Names read word by word are used if they are on the limb that the shape
suggests; the joints of one hip or ankle are one place, and the shape gives the last of them. Sides follow the names.
"""

from dataclasses import dataclass, field, replace

from poise.anatomy.bone_names.matcher import CORE, RoleReport
from poise.anatomy.bone_names.words import SHARED_WORD_CONFIDENCE, find_word_roles
from poise.anatomy.limbs import LimbChain, is_twist_hinge
from poise.anatomy.report import Role, find_table_place
from poise.anatomy.shape import BodyShape, Guess
from poise.model import Model
from poise.names import find_other_side, find_side

__all__ = ["RoleDecisions", "weigh_evidence"]

ENDS = ("hand", "foot", "head", "toe", "heel", "fingertip")  # roles that a frame fixed to the part may have
GROUPS = {"hip": "upper", "shoulder": "upper", "clavicle": "upper", "foot": "last", "ankle": "last"} | {
    "hand": "last",
    "wrist": "last",
}
LIMBS = {
    "arm": ("clavicle", "shoulder", "elbow", "wrist", "hand"),
    "leg": ("hip", "knee", "ankle", "foot", "ball", "toe"),
}
OPPOSITE_ENDS = {"f": "h", "h": "f"}
LEAST_WORD_CONFIDENCE = 0.28  # lower confidences are ignored
Claims = dict[str, dict[str, tuple[float, str]]]


@dataclass
class RoleDecisions:
    """The decided roles, the disagreements of names and shape, and whether the names reverse the facing."""

    found: list[Role] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    turned: bool = False


def weigh_evidence(model: Model, names: RoleReport, shape: BodyShape) -> tuple[RoleDecisions, BodyShape]:
    """Decide the roles by names and shape; return them, and the shape with left and right corrected by the names."""
    out = RoleDecisions()
    strong = names.is_known
    shape = follow_sides(shape, out)
    claims = list_claims(names) if strong else read_claims(model, shape)
    if strong and do_contradict(names, shape):
        out.disagreements.append("the shape of the rest pose contradicts the names; give a clip: clip=")
        shape = replace(shape, kind="", roles={}, limbs={}, notes=(), ends=())
    parts = shape.body.owners
    taken = {guess.frame: role for role, guess in shape.roles.items()}
    for role in sorted({*claims, *shape.roles}, key=find_table_place):
        judge = Judge(role, claims.get(role, {}), shape, parts, taken, strong)
        decided = judge.decide(out.disagreements)
        if decided is not None:
            out.found.append(Role(role, decided.frame, round(min(decided.certainty, 1.0), 2), decided.why))
    if not strong:
        for kind, limb in LIMBS.items():
            on = {side: shape.limbs[f"{kind}_{side}"].chain for side in "lr" if f"{kind}_{side}" in shape.limbs}
            frames = {side: [name for name, at in parts.items() if at in chain] for side, chain in on.items()}
            out.found = pair_sides(out.found, limb, frames)
    return out, shape


def pair_sides(found: list[Role], limb: tuple[str, ...], frames: dict[str, list[str]]) -> list[Role]:
    """Return the roles with those of one limb as on the other side, if the names of the frames differ by their side.

    Objects on one hand, such as a sword and a shield, can change the shape of its arm. The surer side decides.

    Args:
        found: The roles.
        limb: The roles of the limb, without their side.
        frames: The frames of the limb by its side.
    """
    roles = {role.role: role for role in found}
    both = [part for part in limb if f"{part}_l" in roles and f"{part}_r" in roles]
    sure = {side: sum(roles[f"{part}_{side}"].certainty for part in both) for side in "lr"}
    kept, other = ("l", "r") if sure["l"] > sure["r"] else ("r", "l")
    images = {part: find_other_side(roles[f"{part}_{kept}"].frame, frames.get(other, ())) for part in both}
    if sure["l"] == sure["r"] or all(images[part] in (None, roles[f"{part}_{other}"].frame) for part in both):
        return found
    for part, image in images.items():
        if image is not None and image != roles[f"{part}_{other}"].frame:
            role = roles[f"{part}_{kept}"]
            roles[f"{part}_{other}"] = replace(role, role=f"{part}_{other}", frame=image, evidence=f"as {role.frame!r}")
    extra = [f"{part}_{other}" for part in limb if f"{part}_{kept}" not in roles and f"{part}_{other}" in roles]
    for name in extra:
        if roles[name].frame in images.values():  # which has another role of the limb
            del roles[name]
    return list(roles.values())


def do_contradict(names: RoleReport, shape: BodyShape) -> bool:
    """Return whether the shape assigns most of the main roles to other parts than the names do."""
    parts = shape.body.owners
    both = [
        (frame, shape.roles[role].frame) for role, frame in names.roles.items() if role in CORE and role in shape.roles
    ]
    return bool(both) and sum(parts[a] != parts[b] for a, b in both) > 0.5 * len(both)


def list_claims(names: RoleReport) -> Claims:
    """List the role claims of a known tool's names."""
    return {match.role: {match.frame: (match.confidence, match.why)} for match in names.matches}


def read_claims(model: Model, shape: BodyShape) -> Claims:
    """List the role claims of the words of frame names, or else of joint names."""
    claims: Claims = {}
    legs = shape.kind in ("quadruped", "many legs")
    for name in model.frames:
        joint = model.frame(name).joint
        roles, sure = find_word_roles(name)
        if not roles and joint is not None:
            roles, sure = find_word_roles(joint)
            sure *= 0.9
        for role in roles:
            if sure >= LEAST_WORD_CONFIDENCE and not (
                legs and role[-2:] in ("_l", "_r") and shape.stance and not shape.stance.arms
            ):
                claims.setdefault(role, {})[name] = (sure, "by its name")
    for role in [
        role for role, frames in claims.items() if max(sure for sure, _ in frames.values()) < SHARED_WORD_CONFIDENCE
    ]:
        if len(claims[role]) > 3:  # arm_1 to arm_7: all of them have the word
            del claims[role]
    return claims


def follow_sides(shape: BodyShape, out: RoleDecisions) -> BodyShape:
    """Return the shape with left and right as the names have them."""
    agree = against = 0
    for limb_name, limb in shape.limbs.items():
        for k in limb.chain:
            part = shape.body.parts[k]
            side = find_side(part.frame) or (find_side(part.joint.name) if part.joint is not None else "")
            agree += side == limb_name[-1]
            against += side not in ("", limb_name[-1])
    if against <= agree:
        return shape
    out.turned = True
    why = "" if shape.facing is None else f", by {shape.facing.why}"
    out.disagreements.append(f"sides called left by name are right by shape{why}; the names were followed")
    roles = {turn_role(role): replace(guess, certainty=0.8 * guess.certainty) for role, guess in shape.roles.items()}
    ends = tuple(replace(end, name=turn_role(end.name)) for end in shape.ends)
    return replace(shape, roles=roles, ends=ends, limbs={turn_role(name): limb for name, limb in shape.limbs.items()})


def swap_role(role: str) -> str:
    """Return the role on the other side."""
    return role[:-1] + {"l": "r", "r": "l"}[role[-1]] if role[-1] in "lr" and "_" in role else role


def turn_role(role: str) -> str:
    """Return the role of a body that faces the other way: on the other side, and of four legs at the other end."""
    part, _, side = swap_role(role).rpartition("_")
    return f"{part}_{OPPOSITE_ENDS[side[0]]}{side[1]}" if side in ("fl", "fr", "hl", "hr") else swap_role(role)


@dataclass
class Judge:
    """The decision on one role, from the claims of names and the guess of the shape."""

    role: str
    claims: dict[str, tuple[float, str]]
    shape: BodyShape
    parts: dict[str, int]
    taken: dict[str, str]
    strong: bool

    def decide(self, disagreements: list[str]) -> Guess | None:
        """Return the frame of the role, or None."""
        guess = self.shape.roles.get(self.role)
        if not self.strong:
            self.claims = {frame: claim for frame, claim in self.claims.items() if not self.is_at_middle(frame)}
        if not self.claims:
            return None if guess is None else replace(guess, why=f"shape: {guess.why}")
        if guess is None:
            frame = self.best_named()
            if not self.strong and not self.fits(frame):
                return None
            sure, why = self.claims[frame]
            return Guess(frame, sure, f"name: {why}" if self.strong else "name")
        return self.agree(guess) or self.choose(guess, disagreements)

    def agree(self, guess: Guess) -> Guess | None:
        """Return the guess if a name agrees with it or names a frame of the same part, or None."""
        most = max(sure for sure, _ in self.claims.values())
        alike = [name for name, (sure, _) in self.claims.items() if sure > 0.75 * most]
        same = [name for name in alike if self.parts.get(name) == self.parts[guess.frame]]
        if not same:
            return None
        frame = guess.frame
        if self.strong or self.part in ENDS:
            grippers = [] if self.strong else [n for n in same if find_word_roles(n)[0] == (self.role,)]  # not a wrist
            near = [frame] if frame in same else same
            frame = max(grippers or near, key=lambda name: self.claims[name][0])
        sure = max(self.claims[name][0] for name in same)
        return Guess(frame, 1.0 - (1.0 - sure) * (1.0 - guess.certainty), f"name and shape: {guess.why}")

    def choose(self, guess: Guess, disagreements: list[str]) -> Guess:
        """Choose between the name's frame and the shape's; record a disagreement unless both are at the same place."""
        frame = self.best_named()
        sure, _ = self.claims[frame]
        if self.same_place(frame, guess.frame):
            return replace(guess, why=f"name and shape: {guess.why}") if not self.strong else Guess(frame, sure, "name")
        if self.strong and self.is_called_so(guess.frame) and not self.is_called_so(frame):
            return Guess(guess.frame, max(sure, guess.certainty), f"name and shape: {guess.why}")
        if not self.strong and self.is_twist(frame, guess.frame):
            return replace(guess, why=f"name and shape: {guess.why}, and {frame!r} only twists it")
        named = self.strong or (self.fits(frame) and self.taken.get(frame, self.role)[-2:] == self.role[-2:])
        if named and not self.strong and self.limb is not None:
            sure = max(sure, 0.5)
            if self.is_above_middle(frame):
                return Guess(frame, sure, f"name; by shape {guess.frame!r} is the last joint there")
        if not self.strong and self.limb is None and frame in self.taken:
            return replace(guess, why=f"shape: {guess.why}")  # named a waist, but is the pelvis
        winner, loser = ("name", "shape") if named else ("shape", "name")
        disagreements.append(
            f"{self.role} is {frame!r} by name and {guess.frame!r} by shape ({guess.why}); the {winner} was followed"
        )
        certainty = 0.8 * (sure if named else guess.certainty)
        return Guess(frame if named else guess.frame, certainty, f"{winner}, against the {loser}")

    def is_called_so(self, frame: str) -> bool:
        """Return whether the words of a frame's name suggest the role."""
        return self.role in find_word_roles(frame)[0]

    @property
    def part(self) -> str:
        """The role without its side."""
        return self.role.rpartition("_")[0] or self.role

    @property
    def limb(self) -> LimbChain | None:
        """The limb that the role belongs to; None for the trunk."""
        part, _, side = self.role.rpartition("_")
        kind = "arm" if part in ("clavicle", "shoulder", "elbow", "wrist", "hand") else "leg"
        return self.shape.limbs.get(f"{kind}_{side}") if part else None

    def best_named(self) -> str:
        """Return the frame with the most confident name; of several, the outermost of the limb, otherwise the last."""
        chain = self.limb.chain if self.limb is not None else ()
        order = {self.shape.body.parts[k].frame: i for i, k in enumerate(chain)}
        names = list(self.claims)
        return max(names, key=lambda name: (self.claims[name][0], order.get(name, -1), names.index(name)))

    def fits(self, frame: str) -> bool:
        """Return whether a frame is in the right place for the role: on its limb, or on the trunk."""
        at = self.parts.get(frame)
        if not self.shape.limbs or at is None:
            return True
        if self.limb is not None:
            chain, last = self.limb.chain, self.limb.last
            if self.part in ("hand", "wrist") and last is not None:  # a hand is not part of a finger
                return at in chain[: chain.index(last) + 1]
            return at in chain or at in self.shape.body.list_below(chain[0])
        return not any(at in limb.chain for limb in self.shape.limbs.values())

    def is_above_middle(self, frame: str) -> bool:
        """Return whether a frame and the role are both joints of one hip or shoulder."""
        limb = self.limb
        if limb is None or limb.middle is None or GROUPS.get(self.part) != "upper":
            return False
        return self.parts.get(frame) in limb.chain[: limb.chain.index(limb.middle)]

    def same_place(self, named: str, guessed: str) -> bool:
        """Return whether two frames are joints of one ankle or wrist, of which the last counts."""
        limb = self.limb
        if limb is None or limb.middle is None or GROUPS.get(self.part) != "last":
            return False
        chain, one, other = list(limb.chain), self.parts.get(named), self.parts[guessed]
        return one in chain and other in chain and chain.index(limb.middle) < chain.index(one) < chain.index(other)

    def is_twist(self, named: str, guessed: str) -> bool:
        """Return whether an elbow or knee is a hinge by name that turns about the bone above the one that bends."""
        limb, one, other = self.limb, self.parts.get(named), self.parts[guessed]
        if limb is None or one not in limb.chain or self.part not in ("elbow", "knee") or other != limb.middle:
            return False
        upper, lower = self.shape.body.parts[one], self.shape.body.parts[other]
        return limb.chain.index(one) < limb.chain.index(other) and is_twist_hinge(upper, lower.place - upper.place)

    def is_at_middle(self, frame: str) -> bool:
        """Return whether a hand or foot is by name the forearm or shin: at the elbow, the knee or a twist."""
        limb = self.limb
        if GROUPS.get(self.part) != "last" or limb is None or limb.middle is None:
            return False
        carriers = {end.frame for end in self.shape.ends if end.name == self.role}
        return frame in {self.shape.body.parts[limb.middle].frame, *carriers}
