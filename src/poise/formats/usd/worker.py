"""The parser of USD files, in a process of its own; the answer is described in `poise.formats.node_scene`.

It also has `bodies` and `joints`, the rigid bodies and joints of UsdPhysics, and `kilograms` per unit of mass. Matrices
are for columns: a point p is at M p. It imports nothing from Poise, because a bare interpreter runs its source (see
`poise.formats.apart`).
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

MAX_KEYS = 20_000_000  # of all channels
MAX_PRIMS = 1_000_000
MAX_LAYERS = 1000
OPEN = (-np.inf, np.inf)
FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
PARTS = ("translation", "rotation", "scale")

Values = dict[str, Any]


def check_layers(path: str) -> list[str]:
    """Return what is odd about the files that a file refers to; raise if one is not in its folder or below."""
    from pxr import Ar, Sdf, Tf

    folder = Path(path).parent.resolve()
    try:
        root = Sdf.Layer.FindOrOpen(path)
    except Tf.ErrorException as error:
        found = re.search(r" : '(.*?)'(\n|$)", str(error), re.DOTALL)
        text = re.sub(re.escape(path) + r":(\d+):\d+", r"line \1", found[1] if found else str(error))
        raise ValueError(text.replace(path, Path(path).name)) from None
    if root is None:
        raise ValueError("it is no USD file, or a damaged one")
    queue, seen, odd = [root], {root.identifier}, []
    while queue:
        layer = queue.pop()
        check_clips(layer)
        for reference in layer.GetCompositionAssetDependencies():
            if Path(reference).is_absolute() or re.search(r"[:`\\]", reference):
                raise ValueError(f"it refers to {reference[:100]!r}; only relative paths are followed")
            target = Sdf.ComputeAssetPathRelativeToLayer(layer, reference)
            try:
                found = None if target in seen else Sdf.Layer.FindOrOpen(target)
            except Tf.ErrorException:
                found = None
            place = Path(Ar.SplitPackageRelativePathOuter(found.realPath if found else target)[0])
            if place.is_absolute() and not place.resolve().is_relative_to(folder):
                raise ValueError(f"it refers to {reference[:100]!r}, which leads out of its folder")
            if found is not None:
                queue.append(found)
            elif target not in seen:
                odd.append(f"refers to {reference[:100]!r}, which is missing or damaged; it was read without")
            seen.add(target)
        if len(seen) > MAX_LAYERS:
            raise ValueError(f"it refers to more than {MAX_LAYERS} files")
    return odd


def check_clips(layer: Any) -> None:
    """Raise if a prim has value clips, whose files are no dependencies of the layer."""
    paths: list[Any] = []
    layer.Traverse("/", paths.append)
    for path in paths:
        prims = path.IsPrimPath() or path.IsPrimVariantSelectionPath()
        if prims and layer.GetObjectAtPath(path).HasInfo("clips"):
            raise ValueError(f"the prim {str(path)!r} has value clips, which are not followed; flatten the stage first")


def to_matrix(matrix: Any, prim: Any) -> Any:
    """Return a matrix of USD, which multiplies rows, as a NumPy array (..., 4, 4) for columns."""
    out = np.array(matrix, np.float64).swapaxes(-1, -2)
    if not np.isfinite(out).all():
        raise ValueError(f"a transform of {str(prim.GetPath())!r} is not finite")
    return out


def split(matrix: Any, prim: Any) -> list[list[float]]:
    """Return the translation, rotation (xyzw) and scale of a matrix of USD."""
    from pxr import Gf

    to_matrix(matrix, prim)  # raises if it is not finite
    parts = Gf.Transform(matrix)
    turn = parts.GetRotation().GetQuat()
    return [list(parts.GetTranslation()), [*turn.GetImaginary(), turn.GetReal()], list(parts.GetScale())]


class Keys:
    """The keyframes of all channels."""

    def __init__(self) -> None:
        self.times: list[Any] = []
        self.values: list[Any] = []
        self.count = 0

    def add(self, node: int, path: str, times: Any, values: Any) -> list[Any]:
        """Add the keys of a channel, and return it."""
        self.times.append(times)
        self.values.append(np.pad(values, ((0, 0), (0, 4 - values.shape[1]))))
        self.count += len(times)
        return [node, path, self.count - len(times), len(times)]


# ------------------------------------------------------------------------------------------------ skeletons


class Skeletons:
    """The skeletons of a stage as nodes, and their animations as clips."""

    def __init__(self, stage: Any, prims: list[Any], keys: Keys) -> None:
        from pxr import UsdSkel

        self.keys, self.cache, self.rate = keys, UsdSkel.Cache(), stage.GetTimeCodesPerSecond()
        self.nodes: list[Any] = []
        self.skins: list[Any] = []
        self.clips: list[Any] = []
        self.known: list[tuple[dict[str, int], Any, list[Any]]] = []  # joints, the bound animation, own channels
        self.odd: list[str] = []
        for prim in prims:
            if prim.IsA(UsdSkel.Skeleton):
                self.add_skeleton(prim)
        animations = [prim for prim in prims if prim.IsA(UsdSkel.Animation)] if self.known else []
        bound = {known[1] for known in self.known}
        for prim in sorted(animations, key=lambda prim: prim.GetPath() not in bound):
            self.add_clip(prim)

    def add_skeleton(self, prim: Any) -> None:
        """Add the nodes of a skeleton: one for its prim, and one for each joint."""
        from pxr import Usd, UsdGeom, UsdSkel

        query = self.cache.GetSkelQuery(UsdSkel.Skeleton(prim))
        joints = [str(joint) for joint in query.GetJointOrder()] if query else []
        bind = query.GetJointWorldBindTransforms() if joints else []
        if not joints or len(bind) not in (0, len(joints)):
            self.odd.append(f"the skeleton {str(prim.GetPath())!r} is not valid; it was left out")
            return
        rest = UsdSkel.Skeleton(prim).GetRestTransformsAttr().Get() or []
        parents = list(query.GetTopology().GetParentIndices())
        if len(rest) != len(joints):
            if not len(bind):
                raise ValueError(f"the skeleton {str(prim.GetPath())!r} has neither rest nor bind transforms")
            rest = [m * bind[i].GetInverse() if i >= 0 else m for m, i in zip(bind, parents, strict=True)]
        top = len(self.nodes)
        cache = UsdGeom.XformCache(Usd.TimeCode.Default())
        self.nodes.append([prim.GetName(), -1, *split(cache.GetLocalToWorldTransform(prim), prim)])
        for joint, parent, matrix in zip(joints, parents, rest, strict=True):
            self.nodes.append([joint.rpartition("/")[2], top + 1 + parent, *split(matrix, prim)])
        bones = list(range(top + 1, len(self.nodes)))
        self.skins.append([bones, to_matrix(bind, prim).reshape(len(bind), 16).tolist() if len(bind) else []])
        animation = query.GetAnimQuery()
        source = animation.GetPrim().GetPath() if animation else None
        self.known.append((dict(zip(joints, bones, strict=True)), source, self.move_prim(prim, top)))

    def move_prim(self, prim: Any, node: int) -> list[Any]:
        """Return the channels of the node of a skeleton's prim, which is animated if one above it is."""
        from pxr import Usd, UsdGeom

        samples: set[float] = set()
        above = prim
        while above:
            if UsdGeom.Xformable(above):
                samples.update(UsdGeom.Xformable(above).GetTimeSamples())
            above = above.GetParent()
        times = sorted(samples)
        self.check_size(len(times), 1)
        cache = UsdGeom.XformCache()
        rows = []
        for time in times:
            cache.SetTime(Usd.TimeCode(time))
            rows.append(split(cache.GetLocalToWorldTransform(prim), prim))
        return [
            self.keys.add(node, path, np.array(times) / self.rate, np.array([row[k] for row in rows]))
            for k, path in enumerate(PARTS if rows else ())
        ]

    def add_clip(self, prim: Any) -> None:
        """Add an animation as a clip of the skeletons that are bound to it, or that have its joints."""
        from pxr import Usd, UsdSkel

        query = self.cache.GetAnimQuery(UsdSkel.Animation(prim))
        names = [str(joint) for joint in query.GetJointOrder()] if query else []
        users = [known for known in self.known if known[1] == prim.GetPath()]
        users = users or [known for known in self.known if set(names) <= set(known[0])]
        if not names or not users:
            return
        samples = query.GetJointTransformTimeSamples()
        self.check_size(len(samples), len(names))
        codes = [Usd.TimeCode(time) for time in samples] or [Usd.TimeCode.Default()]
        rows = [query.ComputeJointLocalTransformComponents(code) for code in codes]
        if not all(row and len(row[0]) == len(names) for row in rows):
            self.odd.append(f"the animation {str(prim.GetPath())!r} lacks values; it was left out")
            return
        times = np.array(samples or [0.0]) / self.rate
        channels = []
        for joints, _, own in users:
            channels += own
            for k, path in enumerate(PARTS):
                values = np.array([np.array(row[k], np.float64) for row in rows])
                channels += [
                    self.keys.add(joints[name], path, times, values[:, i])
                    for i, name in enumerate(names)
                    if name in joints
                ]
        self.clips.append([prim.GetName(), channels])

    def check_size(self, times: int, nodes: int) -> None:
        """Raise if there would be too many keys."""
        if self.keys.count + 3 * times * nodes > MAX_KEYS:
            raise ValueError(f"its clips have more than {MAX_KEYS} keys")


# ------------------------------------------------------------------------------------------------ physics


def read_bodies(prims: list[Any]) -> list[Values]:
    """Return the rigid bodies, in the order of the stage."""
    from pxr import Usd, UsdGeom, UsdPhysics

    cache, out = UsdGeom.XformCache(Usd.TimeCode.Default()), []
    for prim in prims:
        if not prim.HasAPI(UsdPhysics.RigidBodyAPI):
            continue
        body: Values = {"name": prim.GetName(), "path": str(prim.GetPath())}
        body["matrix"] = to_matrix(cache.GetLocalToWorldTransform(prim), prim).tolist()
        if prim.HasAPI(UsdPhysics.MassAPI):
            mass = UsdPhysics.MassAPI(prim)
            axes = mass.GetPrincipalAxesAttr().Get()
            body["mass"], body["center"] = mass.GetMassAttr().Get(), list(mass.GetCenterOfMassAttr().Get())
            body["inertia"] = list(mass.GetDiagonalInertiaAttr().Get())
            body["axes"] = [axes.GetReal(), *axes.GetImaginary()]
        out.append(body)
    return out


def read_joints(stage: Any, prims: list[Any]) -> list[Values]:
    """Return the joints that are enabled, in the order of the stage; a joint without a body is one to the world."""
    from pxr import Usd, UsdGeom, UsdPhysics

    cache, out = UsdGeom.XformCache(Usd.TimeCode.Default()), []
    for prim in prims:
        joint = UsdPhysics.Joint(prim)
        if not joint or joint.GetJointEnabledAttr().Get() is False:
            continue
        row: Values = {"name": prim.GetName(), "kind": prim.GetTypeName(), "sides": []}
        row["loop"] = bool(joint.GetExcludeFromArticulationAttr().Get())
        for number in "01":
            target = next(iter(prim.GetRelationship(f"physics:body{number}").GetTargets()), None)
            found = stage.GetPrimAtPath(target) if target else None
            at, turn = (prim.GetAttribute(f"physics:local{part}{number}").Get() for part in ("Pos", "Rot"))
            place = (
                np.eye(4).tolist() if not found else to_matrix(cache.GetLocalToWorldTransform(found), found).tolist()
            )
            row["sides"].append([str(target or ""), place, list(at), [turn.GetReal(), *turn.GetImaginary()]])
        for name in ("axis", "lowerLimit", "upperLimit", "coneAngle0Limit", "coneAngle1Limit"):
            row[name] = prim.GetAttribute(f"physics:{name}").Get() if prim.HasAttribute(f"physics:{name}") else None
        row["velocity"] = None
        if prim.HasAttribute("physxJoint:maxJointVelocity"):
            row["velocity"] = prim.GetAttribute("physxJoint:maxJointVelocity").Get()
        limits = {name: UsdPhysics.LimitAPI.Get(prim, name) for name in FREEDOMS}
        ranges = {name: (x.GetLowAttr().Get(), x.GetHighAttr().Get()) if x else OPEN for name, x in limits.items()}
        row["limits"] = ranges
        out.append(row)
    return out


def serve() -> None:
    """Answer the request on stdin: the path of a file."""
    os.environ["PXR_WORK_THREAD_LIMIT"] = "1"
    from pxr import Usd, UsdGeom, UsdPhysics, UsdUtils

    diagnostics = UsdUtils.CoalescingDiagnosticDelegate()  # otherwise they are written to the terminal
    path = sys.stdin.buffer.read().decode()
    odd = check_layers(path)
    stage = Usd.Stage.Open(path)
    prims = []
    for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()):
        prims.append(prim)
        if len(prims) > MAX_PRIMS:
            raise ValueError(f"it has more than {MAX_PRIMS} prims")
    keys = Keys()
    skeletons = Skeletons(stage, prims, keys)
    answer = {"up": UsdGeom.GetStageUpAxis(stage).lower(), "metres": UsdGeom.GetStageMetersPerUnit(stage)}
    answer |= {"kilograms": UsdPhysics.GetStageKilogramsPerUnit(stage), "oddities": odd + skeletons.odd}
    answer |= {"nodes": skeletons.nodes, "skins": skeletons.skins, "clips": skeletons.clips}
    answer |= {"bodies": read_bodies(prims), "joints": read_joints(stage, prims)}
    text = np.frombuffer(json.dumps(answer).encode(), np.uint8)
    times, values = np.concatenate([np.zeros(0), *keys.times]), np.concatenate([np.zeros((0, 4)), *keys.values])
    np.savez(sys.stdout.buffer, scene=text, times=times, values=values)
    del diagnostics


if __name__ == "__main__":
    serve()
