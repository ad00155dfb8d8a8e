// Changes to viser's page, run before it.
(function () {
  "use strict";
  var later = window.setTimeout, query = new URLSearchParams(location.search), line = new URL(location.href);

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

  // Viser keeps null for a node that has left the scene. A skin that leaves takes its bones from its node, which it
  // tests for undefined only: reading null ends the page. Every node passes `noteNode`, which stores undefined instead.
  var nodes = (window.poiseNodes = {}), KEEP = /(\.nodeRefFromName\[([^\]]+)\])=([\w$]+\.current)/;
  window.noteNode = function (name, node) {
    if (node) nodes[name] = node;
    else delete nodes[name];
    return node || undefined;
  };
  document.head.appendChild = function (child) {
    if (child.type === "module") {
      if (!KEEP.test(child.textContent)) console.error("Poise does not know this version of viser.");
      child.textContent = child.textContent.replace(KEEP, "$1=noteNode($2,$3)");
    }
    return Node.prototype.appendChild.call(this, child);
  };

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
