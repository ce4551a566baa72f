//! A real browser without a window: Chromium, controlled over a pipe in its DevTools protocol. Messages are JSON, each
//! ended by a zero byte, so that no network, driver or crate is needed.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::Scratch;

/// The longest that the browser may take for anything. It is far more than needed, and ends a test that would hang.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A browser with a new, empty profile.
pub(crate) struct Browser {
    process: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    last_id: u64,
    profile: Scratch,
}

/// How a page is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// The window's width in CSS pixels.
    pub(crate) width: u32,
    /// Whether it is the window of a phone.
    pub(crate) is_phone: bool,
    /// Whether the reader prefers dark pages.
    pub(crate) is_dark: bool,
    /// Whether scripts run.
    pub(crate) has_script: bool,
}

impl View {
    /// The window of a desktop.
    pub(crate) const DESKTOP: View = View { width: 1280, is_phone: false, is_dark: false, has_script: true };
    /// The screen of a phone.
    pub(crate) const PHONE: View = View { width: 390, is_phone: true, is_dark: false, has_script: true };
}

/// An open page.
pub(crate) struct Page<'a> {
    browser: &'a mut Browser,
    session: String,
    /// Messages on the console, errors and refused requests.
    pub(crate) messages: Vec<String>,
    /// Events that were received and not yet waited for.
    events: Vec<Value>,
}

impl Browser {
    /// Starts the browser. Fails the test if there is none.
    #[track_caller]
    pub(crate) fn start() -> Self {
        let chromium = std::env::var_os("REPACKBENCH_CHROMIUM").unwrap_or_else(|| "chromium".into());
        // At a short path: that of a socket may have a hundred bytes.
        let profile = Scratch::in_memory();
        // The protocol uses descriptors 3 and 4, which a shell makes from standard input and output.
        let mut process = Command::new("sh");
        super::program::isolate(&mut process);
        process.env("HOME", profile.path()).env("LC_ALL", "C.UTF-8");
        let mut process = process
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>\"$0\""])
            .arg(profile.join("log"))
            .arg(&chromium)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .arg(format!("--user-data-dir={}", profile.join("profile").display()))
            .args(["--remote-debugging-pipe", "about:blank"])
            .env("TMPDIR", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh");
        let (to, answers) = (process.stdin.take().expect("a pipe"), process.stdout.take().expect("a pipe"));
        let (send, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0) {
                let Ok(Ok(message)) = message.map(|text| serde_json::from_slice(&text)) else { return };
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Browser { process, to, from, last_id: 0, profile };
        browser.call(None, "Browser.getVersion", json!({}), &mut Vec::new());
        browser
    }

    /// Opens a file with the network off, and waits until it is loaded.
    #[track_caller]
    pub(crate) fn open(&mut self, file: &Path, view: View) -> Page<'_> {
        let mut events = Vec::new();
        let target = self.call(None, "Target.createTarget", json!({ "url": "about:blank" }), &mut events);
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call(None, "Target.attachToTarget", attach, &mut events);
        let session = attached["sessionId"].as_str().expect("a session").to_owned();
        let mut page = Page { browser: self, session, messages: Vec::new(), events: Vec::new() };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.call("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
        let offline = json!({ "offline": true, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0 });
        page.call("Network.emulateNetworkConditions", offline);
        let View { width, is_phone, .. } = view;
        let window = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": is_phone });
        page.call("Emulation.setDeviceMetricsOverride", window);
        let scheme = if view.is_dark { "dark" } else { "light" };
        page.media("", scheme);
        page.call("Emulation.setScriptExecutionDisabled", json!({ "value": !view.has_script }));
        let navigated = page.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        // Only the event of this page counts: the empty page before it may load only now.
        let loader = &navigated["loaderId"];
        assert!(loader.is_string(), "{navigated}");
        page.wait_for("Page.lifecycleEvent", |event| event["name"] == "load" && event["loaderId"] == *loader);
        page
    }

    /// Sets the folder of downloads.
    #[track_caller]
    pub(crate) fn download_to(&mut self, folder: &Path) {
        let behaviour = json!({ "behavior": "allow", "downloadPath": folder, "eventsEnabled": true });
        self.call(None, "Browser.setDownloadBehavior", behaviour, &mut Vec::new());
    }

    #[track_caller]
    fn call(&mut self, session: Option<&str>, method: &str, parameters: Value, events: &mut Vec<Value>) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let written = self.to.write_all(format!("{message}\0").as_bytes()).and_then(|()| self.to.flush());
        if written.is_err() {
            self.is_gone(method);
        }
        loop {
            let answer = self.next(method);
            if answer["id"] == self.last_id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            events.push(answer);
        }
    }

    #[track_caller]
    fn next(&self, waiting_for: &str) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap_or_else(|_| self.is_gone(waiting_for))
    }

    #[track_caller]
    fn is_gone(&self, waiting_for: &str) -> ! {
        let log = std::fs::read_to_string(self.profile.join("log")).unwrap_or_default();
        panic!(
            "Chromium does not answer to {waiting_for}. Run `cargo xtask test`, which installs it, or set REPACKBENCH_CHROMIUM to \
             its path.\n{log}"
        )
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // At the end of its pipe it would continue for a while and write to its profile.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Page<'_> {
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        let mut events = Vec::new();
        let result = self.browser.call(Some(&self.session), method, parameters, &mut events);
        events.into_iter().for_each(|event| self.receive(event));
        result
    }

    /// Waits for a `wanted` event, also one that has already come.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let is_it = |event: &Value| event["method"] == method && wanted(&event["params"]);
        loop {
            if let Some(at) = self.events.iter().position(is_it) {
                return self.events.remove(at)["params"].clone();
            }
            let event = self.browser.next(method);
            self.receive(event);
        }
    }

    fn receive(&mut self, event: Value) {
        let is_message =
            ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed"]
                .iter()
                .any(|name| event["method"] == *name);
        if is_message {
            self.messages.push(event.to_string());
        }
        self.events.push(event);
    }

    /// The value of a JavaScript expression. Fails the test if it throws.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The number that an expression gives.
    #[track_caller]
    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        let value = self.value(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// The text that an expression gives.
    #[track_caller]
    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).to_owned()
    }

    /// Emulates a medium, `print` or `` for the screen, and a colour scheme.
    #[track_caller]
    pub(crate) fn media(&mut self, media: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
    }

    /// Presses a key.
    #[track_caller]
    pub(crate) fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            _ => panic!("{key} has no code here"),
        };
        for event in ["rawKeyDown", "keyUp"] {
            let key = json!({ "type": event, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", key);
        }
    }

    /// Moves the mouse to the middle of the element that the expression gives, and may click there.
    #[track_caller]
    pub(crate) fn point_at(&mut self, element: &str, is_click: bool) {
        let middle = format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; }})()"
        );
        let at = self.value(&middle);
        let mut events = vec![("mouseMoved", 0)];
        if is_click {
            events.extend([("mousePressed", 1), ("mouseReleased", 1)]);
        }
        for (event, clicks) in events {
            let button = if clicks > 0 { "left" } else { "none" };
            let mouse = json!({ "type": event, "x": at[0], "y": at[1], "button": button, "clickCount": clicks });
            self.call("Input.dispatchMouseEvent", mouse);
        }
    }

    /// Clicks and waits for the download. Returns its suggested name and its path.
    #[track_caller]
    pub(crate) fn download(&mut self, element: &str, folder: &Path) -> (String, PathBuf) {
        self.value(&format!("{element}.click()"));
        let begun = self.wait_for("Browser.downloadWillBegin", |_| true);
        self.wait_for("Browser.downloadProgress", |event| {
            event["guid"] == begun["guid"] && event["state"] == "completed"
        });
        let name = begun["suggestedFilename"].as_str().expect("a name").to_owned();
        (name.clone(), folder.join(name))
    }

    /// Fails the test if the page has written any message or error.
    #[track_caller]
    pub(crate) fn assert_no_messages(&mut self) {
        // The answer comes after all earlier events.
        self.value("0");
        self.events.clear();
        assert!(self.messages.is_empty(), "{}", self.messages.join("\n"));
    }
}
