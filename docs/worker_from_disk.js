// Browsers start no workers for pages that were opened from disk (file://), and the search runs in one. There, this
// class runs the worker's script in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inner = this.frame.contentWindow;
      const run = (source, then) => {
        const script = inner.document.createElement("script");
        script.src = source;
        script.onload = then;
        inner.document.body.appendChild(script);
      };
      inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inner.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => new Promise((done) => run(source, done))), Promise.resolve());
      run(url, () => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }

    postMessage(data) {
      const inner = this.frame.contentWindow;
      if (this.ready) inner.dispatchEvent(new inner.MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
