"""Anatomy: find the parts of a body, such as its left hand, from bone names and from its shape."""

from poise.anatomy.bone_names.matcher import RoleMatch, RoleReport, find_roles
from poise.anatomy.contacts import ContactPoint
from poise.anatomy.feet import Edge, Foot, find_edges, find_feet, find_sole
from poise.anatomy.report import Role, Roles
from poise.anatomy.role_search import roles

__all__ = [
    "ContactPoint",
    "Edge",
    "Foot",
    "Role",
    "RoleMatch",
    "RoleReport",
    "Roles",
    "find_edges",
    "find_feet",
    "find_roles",
    "find_sole",
    "roles",
]
