// The goals in use of a body, among those that Python has prepared for its handles (poise.rig.catalogue).
"use strict";

const MOST_PROBLEMS = 12;

class GoalChoice {
  constructor(data, catalogue) {
    Object.assign(this, {data, catalogue});
    this.problems = new Map(); this.counts = ["goals", "points", "limits"].map((what) => catalogue.count(what));
  }

  // sets the targets of a handle's role to where the handle is in a pose
  hold(handle, role, q) { for (const goal of handle.goals[role]) if (!handle.loose.includes(goal)) this.catalogue.hold(goal, q); }

  // the problem of the goals in use, and their indices: `roles` has the role of each handle by name, `height` returns the
  // height of the ground under a foot, and `looking` aims the head
  choose(roles, height, looking) {
    const [goals, points, limits] = this.counts.map((n) => new Uint8Array(n)), {data} = this;
    limits.fill(1);
    for (const k of data.always) goals[k] = 1;
    const feet = data.handles.filter((h) => h.stands && ["plant", "pin"].includes(roles.get(h.name)));
    const low = Math.min(...feet.map(height)) + data.layer;  // higher feet carry nothing
    for (const handle of data.handles) {
      const role = roles.get(handle.name);
      for (const k of (role && handle.goals[role]) || []) goals[k] = 1;
      for (const k of handle.sole) limits[k] = feet.includes(handle) ? 0 : 1;
      for (const k of role === "plant" ? handle.heel : []) limits[k] = 1;
      for (const k of feet.includes(handle) && height(handle) <= low ? handle.supports : []) points[k] = 1;
    }
    if (feet.length) for (const k of data.standing) goals[k] = 1;
    if (looking) for (const k of data.looks) goals[k] = 1;
    const key = `${goals}|${points}|${limits}`;
    if (!this.problems.has(key)) {
      if (this.problems.size >= MOST_PROBLEMS) { const [oldest, old] = this.problems.entries().next().value; if (old.problem) old.problem.release(); this.problems.delete(oldest); }
      const list = [...goals.keys()].filter((k) => goals[k] && !(data.standing.includes(k) && data.goals[k].label === "balance" && !points.includes(1)));
      this.problems.set(key, {problem: this.catalogue.choose(goals, points, limits), list});
    }
    return this.problems.get(key);
  }
}
