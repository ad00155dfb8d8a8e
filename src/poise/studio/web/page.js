// Changes to viser's page, run before it.
(function () {
  "use strict";
  var later = window.setTimeout, query = new URLSearchParams(location.search), line = new URL(location.href);
  var nodes = (window.poiseNodes = {});

  // Viser waits 50 ms between two messages of a drag. That suits distant servers, but exceeds the rest of the delay from
  // mouse to pose: here it waits 8 ms.
  window.setTimeout = function (todo, wait) {
    if (wait === 50) arguments[1] = 8;
    return later.apply(window, arguments);
  };

  // The token is added to the address of the WebSocket.
  line.protocol = line.protocol.replace("http", "ws");
  line.search = "?token=" + query.get("token");
  query.set("websocket", line.href);
  history.replaceState(null, "", "?" + query);

  // The mesh of a node, and the node itself if it has one.
  function findMesh(name) {
    var found;
    if (nodes[name]) nodes[name].traverse(function (part) { found = found || (part.isMesh ? part : undefined); });
    return found;
  }

  // Skins with one parent have the same bones: all are drawn with those of the first, which alone are moved.
  function shareBones(name) {
    var stem = name.replace(/\d+$/, ""), first = findMesh(stem + "0");
    for (var other in nodes) if (first && /^\d+$/.test(other.slice(stem.length)) && other.startsWith(stem)) findMesh(other).skeleton = first.skeleton;
  }

  // Viser has meshes of one colour. A node `uv_3` below a mesh holds texture coordinates for the third image of its body,
  // a node `normal` the normals.
  function paint(name, what) {
    var mesh = findMesh(name), values = findMesh(name + "/" + what);
    if (!mesh || !values) return;
    mesh.geometry.setAttribute(what === "normal" ? "normal" : "uv", values.geometry.attributes.position);
    if (what === "normal") return;
    var image = "/" + name.split("/")[1].replace(/_skins$/, "") + "_paint/" + what.slice(3);
    mesh.onBeforeRender = function (renderer, scene, camera, geometry, material) {
      var drawn = findMesh(image), texture = drawn && drawn.material.map;
      if (!texture || material.map === texture || !("map" in material)) return;
      texture.colorSpace = "srgb"; texture.flipY = false; texture.wrapS = texture.wrapT = 1000; texture.anisotropy = 4;
      texture.needsUpdate = true;
      material.map = texture; material.alphaTest = 0.5; material.needsUpdate = true;
    };
  }

  // Viser keeps null for a node that has left the scene. A skin that leaves takes its bones from its node, which it
  // tests for undefined only: reading null ends the page. Every node passes `noteNode`, which stores undefined instead.
  var KEEP = /(\.nodeRefFromName\[([^\]]+)\])=([\w$]+\.current)/;
  window.noteNode = function (name, node) {
    if (!node) {
      delete nodes[name];
      return undefined;
    }
    nodes[name] = node;
    if (name.startsWith("/body_")) showLoading("");
    if (/\/skin_\d+$/.test(name)) shareBones(name);
    var part = /^(.*)\/(uv_\d+|normal)$/.exec(name);
    if (part) paint(part[1], part[2]);
    for (var other in nodes) if (other.startsWith(name + "/uv_") || other === name + "/normal") paint(name, other.slice(name.length + 1));
    return node;
  };
  document.head.appendChild = function (child) {
    if (child.type === "module") {
      if (!KEEP.test(child.textContent)) console.error("Poise does not know this version of viser.");
      child.textContent = child.textContent.replace(KEEP, "$1=noteNode($2,$3)");
    }
    return Node.prototype.appendChild.call(this, child);
  };

  // Until the body is there, a message covers viser's empty panel.
  function showLoading(text) {
    var box = document.getElementById("poise-loading");
    if (!text && box) box.remove();
    if (text && !box) document.body.insertAdjacentHTML("beforeend", '<div id="poise-loading" role="status"></div>');
    if (text) document.getElementById("poise-loading").textContent = text;
  }
  document.addEventListener("DOMContentLoaded", function () {
    showLoading("Loading \u2026");
    later(function () {
      if (document.getElementById("poise-loading")) showLoading("Loading \u2026 Is the studio still running in its terminal?");
    }, 2e4);
  });

  // A page that an error has ended is loaded again, at most every 10 s: the server sends it the whole scene.
  window.addEventListener("error", function () {
    later(function () {
      var root = document.getElementById("root"), before = Number(sessionStorage.getItem("poise-loaded-again"));
      if (!root || root.childElementCount || Date.now() - before < 1e4) return;
      sessionStorage.setItem("poise-loaded-again", Date.now());
      location.reload();
    }, 500);
  });
})();
