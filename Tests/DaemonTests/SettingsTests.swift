// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Glibc
import Mgmt
import Patterns
import Scratch
import System
import TestLoop
import Testing

@testable import Arguments
@testable import Board
@testable import Daemon

@Suite("Settings in a file")
struct SettingsTests {
  private let scratch: Scratch
  private var folder: String { scratch.path }

  init() throws { scratch = try Scratch() }

  private static func read(_ text: String) -> SettingsFile {
    SettingsFile(Array(text.utf8), path: "f")
  }

  /// The faults, as they are printed.
  private static func faults(_ text: String) -> [String] {
    read(text).faults.map { "\($0.place.line):\($0.place.column): \($0.message)" }
  }

  @Test("Options have their names, and are read as on the command line")
  func options() throws {
    let file = Self.read(
      """
      name = "Küche"
      adapter = ["hci0", "AA:BB:CC:DD:EE:FF"]
      pairable = 60
      io = "display"
      fetch = ["app", "title"]
      max-length = 300
      log-level = "debug"
      allow-legacy = false
      require-mitm = true
      grace = 0
      """)
    #expect(file.faults.isEmpty)
    var typed = RunOptions()
    let line =
      "--name Küche --hci0 --adapter AA:BB:CC:DD:EE:FF --pairable=60 --io display --fetch app,title "
      + "--max-length 300 --log-level debug --require-mitm --grace 0"
    try Grammar.run.parse(line.split(separator: " ").map(String.init), into: &typed)
    #expect(file.options == typed)
    #expect(file.entries.map(\.name).prefix(3) == ["name", "adapter", "pairable"])
    #expect(file.entries[1].value == #"["hci0", "AA:BB:CC:DD:EE:FF"]"#)
    #expect(file.entries[2].place.line == 3)
    #expect(Self.read("pairable = true").options.radio.pairable == .always)
    #expect(Self.read("pairable = false").options == RunOptions())
  }

  @Test(
    "A time is a number of seconds, or a text with a unit",
    arguments: [
      ("grace = 300", "grace = \"5m\""), ("grace = 0", "grace = \"0\""),
      ("exec-timeout = 90", "exec-timeout = \"90s\""), ("pairable = 600", "pairable = \"10m\""),
    ])
  func times(_ number: String, _ text: String) {
    #expect(Self.faults(text).isEmpty)
    #expect(Self.read(number).options == Self.read(text).options)
    #expect(Self.read(text).options != RunOptions())
  }

  @Test(
    "What may not be meant is remarked: a rule that nothing comes to, a program that can't be run")
  func remarks() throws {
    let file = Self.read(
      """
      require-mitm = true
      [[rule]]
      name = "all"
      [[rule]]
      app = "com.x"
      run = "/nowhere/lamp"
      """)
    #expect(file.faults.isEmpty)
    let lines = file.remarks(isService: false).map { "\($0)" }
    #expect(lines.count == 3)
    #expect(lines[0].hasPrefix("f:6:7: /nowhere/lamp can't be run"))
    #expect(lines[1].hasPrefix("f:4:1: this rule is never reached: “all” (line 2)"))
    #expect(lines[2].hasPrefix("f:1:1: without io"))
    // Expressions are PCRE2's, which has what POSIX's have not.
    #expect(Self.read("[[rule]]\ntitle = '(?i)\\d{4}'").remarks(isService: false).isEmpty)
  }

  private static let tables = """
    name = "kit\\tchen"
    adapter = ["hci0"]
    grace = "5m"
    [quirks]
    handles = "discover"
    [[hook]]
    event = "media"
    run = ["/usr/local/bin/display", "--media"]
    [[hook]]
    event = "notification"
    run = "/usr/local/bin/lamp"
    preexisting = true
    [[rule]]
    name = "spam calls"
    category = ["incoming-call", "missed-call"]
    title = '^Spam|^\\+49 900 "x"'
    phone = "iPhone"
    act = "negative"
    show = false
    [[rule]]
    app = ["com.example.game*", "*.casino"]
    message = "x"
    time = "22:05-07:00"
    flag = "important"
    urgent = true
    fetch = "all"
    run = "/usr/local/bin/buzzer"
    preexisting = true
    """

  @Test("The settings in force are shown as an equivalent file")
  func shown() throws {
    let settings = try Settings(
      ["-v", "--json", "--hci1", "--hci2", "--exec", "battery=/bin/x", "--quirk", "probe=60"]
    ) { _ throws(Failure) in Self.read(Self.tables) }
    let shown = SettingsInForce(settings).report(on: []).text
    let again = Self.read(shown)
    #expect(again.faults.isEmpty, "\(shown)")
    let (one, other) = (settings.options, again.options)
    #expect(other.live.rules == one.live.rules)
    #expect(Set(other.live.hooks) == Set(one.live.hooks) && other.live.hooks.count == 3)
    #expect(other.radio == one.radio && other.quirks == one.quirks)
    #expect(other.start == one.start && other.live.grace == one.live.grace)
  }

  @Test("Settings that the command line replaces are not shown as the file's")
  func replaced() throws {
    func shown(_ arguments: [String], _ text: String) throws -> [String] {
      let settings = try Settings(arguments) { _ throws(Failure) in Self.read(text) }
      let again = Self.read(SettingsInForce(settings).report(on: []).text)
      #expect(again.faults.isEmpty)
      #expect(again.options == settings.options)
      return settings.given.map { "\($0.name) = \($0.value ?? "")" }
    }
    #expect(
      try shown(["--virtual-phone"], "adapter = ['hci7']\nearly = true") == ["early = true", "virtual-phone = true"])
    #expect(try shown(["--hci1"], "virtual-phone = true") == [#"adapter = ["hci1"]"#])
    #expect(
      try shown(["--json", "--quirk", "probe=60"], "format = 'text'\n[quirks]\nprobe = '5'")
        == [#"format = "json""#, #"quirks.probe = "60""#])
  }

  @Test("A history is kept where there is a table for it, within bounds")
  func history() {
    #expect(Self.read("name = 'x'").options.start.history == nil)
    #expect(Self.read("[log]").options.start.history == HistoryReport())
    #expect(Self.read("[log]\non = false\nsize = 4").options.start.history == nil)
    let file = Self.read("[log]\nfile = '/x/y'\nage = '7d'\nsize = 4\ntexts = true")
    var wanted = HistoryReport()
    (wanted.file, wanted.age, wanted.size, wanted.hasTexts) = ("/x/y", 7 * 86_400, 4, true)
    #expect(file.faults.isEmpty && file.options.start.history == wanted)
  }

  @Test("The number of settings, hooks, rules and destinations is said in words") func summary() {
    var check = SettingsCheck()
    (check.files, check.settings, check.rules) = (["x"], 1, 2)
    #expect(check.summary == "x is valid: 1 setting, 0 hooks, 2 rules, 0 destinations")
    let place = SettingsPlace(file: "x", line: 1, column: 1)
    check.remarks = [SettingsFault(place: place, message: "m")]
    check.destinations = 1
    #expect(check.summary == "x is valid: 1 setting, 0 hooks, 2 rules, 1 destination, but see the line above")
  }

  @Test("Two places for phones to come from are refused as they were typed")
  func sources() throws {
    let failure = try #require(throws: Failure.self) {
      try Settings(["--att", "unix:/x", "--virtual-phone"]) { _ throws(Failure) in nil }
    }
    #expect(failure.line.contains("--att and --virtual-phone"))
  }

  @Test("Hooks, rules and quirks have tables")
  func readTables() throws {
    let file = Self.read(Self.tables)
    #expect(file.faults.isEmpty)
    #expect(file.options.quirks.handles == .discover)
    #expect(
      file.options.live.hooks == [
        Hook(event: .media, program: ["/usr/local/bin/display", "--media"]), Hook("notification+=/usr/local/bin/lamp"),
      ])
    var spam = Rule(name: "spam calls")
    spam.conditions.categories = [.incomingCall, .missedCall]
    spam.conditions.title = try TextPattern(#"^Spam|^\+49 900 "x""#)
    spam.conditions.phone = PhoneSelector("iPhone")
    (spam.outcome.display, spam.outcome.action) = (.hidden, .negative)
    var last = Rule(name: "2")
    last.conditions.apps = [Glob("com.example.game*"), Glob("*.casino")]
    last.conditions.message = try TextPattern("x")
    last.conditions.time = TimeOfDay.Span("22:05-07:00")
    last.conditions.flags = [.important]
    (last.outcome.display, last.outcome.program) = (.urgent, ["/usr/local/bin/buzzer"])
    (last.outcome.fetch, last.outcome.includesPreExisting) = (AttributeSelection.all.attributes, true)
    #expect(file.options.live.rules == [spam, last])
  }

  @Test(
    "What is wrong is refused with its place and what was expected",
    arguments: [
      ("nam = 'x'", "1:1: there is no setting “nam”; did you mean name?"), ("name = 'x'\n[= 1", "2:2: "),
      ("name = 5", "1:8: name must be a string in quotes (NAME), not 5"),
      ("name = ''", "1:8: name must be a name of 1 to 248 bytes, not “”"),
      ("pairable = ['x']", "1:12: pairable must be true, false, a number of seconds, or a time in"),
      ("require-mitm = 1", "1:16: require-mitm must be true or false, not 1"),
      ("max-length = 'x'", "1:14: max-length must be a number (N), not \"x\""),
      ("adapter = [1]", "1:11: adapter must be a string in quotes (hciN|ADDRESS), or an array"),
      ("verbose = true", "1:1: there is no setting “verbose”"),
      ("hook = 5", "1:8: write hook as [[hook]]"),
      ("[[hook]]\nrun = '/x'", "1:1: this hook has no event"),
      ("[[hook]]\nevent = 'medya'\nrun = '/x'", "2:9: event must be the name of an event: ready, "),
      ("[[hook]]\nevent = 'media'\nrun = 'x'", "3:7: run must be a program's absolute path, or"),
      ("[[hook]]\nevent = 'media'\nrun = '/x'\nshell = 1", "4:1: there is no setting “shell” here"),
      ("[[rule]]\napp = 5", "2:7: app must be a pattern of an app's identifier"),
      ("[[rule]]\ncategory = 'socail'", "2:12: category must be a category (other, incoming-"),
      ("[[rule]]\ntitle = '('", "2:9: title: missing closing parenthesis, at character 1"),
      ("[[rule]]\ntime = '22-7'", "2:8: time must be a span such as \"22:00-07:00\", not “22-7”"),
      ("[[rule]]\nshow = false\nurgent = true", "3:10: a hidden notification can't be urgent"),
      (
        "[[rule]]\nfetch = ['titel']",
        "2:10: fetch must be all, none, or an array of attributes (app, title, subtitle, message, size, "
          + "date, positive, negative), not “titel”"
      ),
      ("[[rule]]\nflag = ['silent', 'loud']", "2:19: flag must be a flag (silent, important, "),
      ("exec = ['/x']", "1:1: there is no setting “exec”; a program to run is a table [[hook]]"),
      ("socket = 'x.sock'", "1:10: socket must be an absolute path, or @NAME, not “x.sock”"),
      ("[[rule]]\ntitel = 'x'", "2:1: there is no setting “titel” here; did you mean title?"),
      ("[quirks]\nhandles = 'x'", "2:11: handles must be assume, verify, hash or discover"),
      ("name = 'x'\nname = 'y'", "2:"), ("\u{FF}\u{0}", "1:"),
      // What the daemon would refuse together.
      ("att = 'unix:/x'\nvirtual-phone = true", "2:1: att and virtual-phone are both set:"),
      ("virtual-phone = true\nadapter = 'hci0'", "2:1: adapter and virtual-phone are both set,"),
      ("require-mitm = true\nio = 'none'", "2:1: io must not be \"none\" with require-mitm"),
      ("[log]\nfile = 'y'", "2:8: file must be an absolute path, not “y”"),
      ("[log]\nage = '7y'", "2:7: age must be a time from 1h to 99d, such as 30, 90s, 10m,"),
      ("[log]\nday = 3", "2:1: there is no setting “day” here; choose from on, file, age,"),
      ("[[forward]]", "1:1: this forward has no to: a URL such as"),
      ("[[forward]]\nto = 'ntfy.sh'", "2:6: to must be a URL"),
      ("[[forward]]\nto = 'a://b'\nto-file = '/x'", "3:11: to and to-file are both set"),
      ("[[forward]]\nto = 'a://b'\ncontent = 'all'", "3:11: content must be one of none, app, title, full"),
      ("[[forward]]\nto = 'a://b'\nmax-age = 0", "3:11: max-age must be a number of seconds"),
      // A wrong value is reported once, not also as missing.
      ("[mqtt]\nurl = 'ha.lan'", "2:7: url must be"),
      ("[mqtt]\nurl = 'mqtt://ha.lan'\ncontent = 'full'", "1:2: content = \"full\" would send"),
      ("[mqtt]\nurl = 'mqtt://ha.lan'\n[[mqtt.rule]]\napp = 'x'", "3:1: thi"),
    ])
  func wrong(_ text: String, _ fault: String) {
    let faults = Self.faults(text)
    #expect(faults.count == 1 && faults[0].hasPrefix(fault), "\(faults)")
  }

  @Test("All faults are reported at once, and valid settings still apply")
  func several() {
    let text = "nam = 'x'\nmax-length = 100\nio = 5\nhook = [5]\n[[rule]]\nx = 1\ny = 2\n"
    #expect(Self.read(text).faults.map(\.place.line) == [1, 3, 4, 4, 4, 6, 7])
    #expect(Self.faults(text).contains("4:9: expected a table, not an integer"))
    #expect(Self.read(text).options.live.fetch.maximumLengths[.title] == 100)
  }

  @Test("A setting from the environment is shown with its variable, unless another source has it")
  func environment() throws {
    let variables = ["ANCSD_SOCKET": "/tmp/a", "ANCSD_FORMAT": ""]
    func given(_ arguments: [String]) throws -> [SettingsReport.Setting] {
      try Settings(arguments, find: { _ in nil }, variable: { variables[$0] }).given
    }
    #expect(try given([]) == [.init("socket", "\"/tmp/a\"", file: "ANCSD_SOCKET", .nextStart)])
    #expect(try given(["--socket", "/b"]).map(\.value) == ["\"/b\""])
    var report = SettingsReport()
    report.settings = try given([])
    #expect(report.text.contains("socket = \"/tmp/a\"  # ANCSD_SOCKET\n"))
  }

  @Test("The command line overrides the file")
  func layers() throws {
    let path = try file("name = 'file'\nadapter = 'hci0'\npairable = 60\nfetch = 'none'\n")
    let settings = try Settings(["--config", path, "--name", "typed", "--att", "unix:/x", "-v"])
    var expected = RunOptions()
    expected.start.name = "typed"
    expected.start.config = path
    expected.start.source = .att(path: "/x")
    expected.radio.pairable = .seconds(60)
    expected.live.fetch.attributes = []
    expected.live.logLevel = .info
    #expect(settings.options == expected && settings.file == path)
    #expect(settings.given.filter { $0.name == "name" } == [.init("name", "\"typed\"", .nextStart)])
    #expect(settings.given.first { $0.name == "pairable" }?.line == 3)
  }

  /// Puts these files in the test's folder.
  private func save(_ files: [String: String], mode: mode_t = 0o644) throws {
    try Files.makeDirectory("\(folder)/conf.d")
    for (name, text) in files {
      try AtomicFile.save(Array(text.utf8), to: "\(folder)/\(name)", mode: mode)
    }
  }

  /// - Returns: the path of a file with this text.
  private func file(_ text: String, mode: mode_t = 0o644) throws -> String {
    try save(["ancsd.toml": text], mode: mode)
    return "\(folder)/ancsd.toml"
  }

  @Test(
    "Files in conf.d are read after ancsd.toml, in the order of their names, and come before it")
  func parts() throws {
    try save([
      "ancsd.toml": "name = 'first'\nadapter = 'hci0'\nallow-legacy = true\n[[rule]]\nshow = false\n",
      "conf.d/20-later.toml": "name = 'last'\n[quirks]\nhandles = 'hash'\n[[rule]]\nurgent = true\n",
      "conf.d/10-sooner.toml":
        "name = 'second'\nadapter = 'hci1'\nallow-legacy = false\n[quirks]\nhandles = 'discover'\n",
      "conf.d/.hidden.toml": "name = 'hidden'\n",
      "conf.d/10-sooner.toml.dpkg-old": "name = 'old'\n",
    ])
    let file = try #require(try SettingsFile.find(nil, in: folder))
    #expect(file.faults.isEmpty)
    let names = ["ancsd.toml", "conf.d/10-sooner.toml", "conf.d/20-later.toml"]
    #expect(file.paths == names.map { "\(folder)/\($0)" })
    let options = file.options
    #expect(options.start.name == "last" && options.quirks.handles == .hash)
    #expect(options.radio.adapters.map { "\($0)" } == ["hci1"] && !options.radio.allowLegacy)
    #expect(options.live.rules.map(\.name) == ["1", "2"])
    #expect(options.live.rules.map(\.outcome.display) == [.hidden, .urgent])
    #expect(file.entries.filter { $0.name == "name" }.map(\.place.line) == [1])
    #expect(file.entries.first { $0.name == "name" }?.place.file == file.paths.last)
  }

  @Test("A fault names its file, and an empty folder is no fault")
  func faultInFolder() throws {
    let none = try SettingsFile.find(nil, in: folder)
    #expect(none == nil)
    try save(["ancsd.toml": "name = 'x'", "conf.d/a.toml": "nam = 'y'"])
    let file = try #require(try SettingsFile.find(nil, in: folder))
    #expect(
      file.failure(named: nil)?.line
        == "ancsd: \(folder)/conf.d/a.toml:1:1: there is no setting “nam”; did you mean name?")
  }

  @Test(
    "A program that can't be run is told, and one in a home directory, which the service does not see",
    arguments: [
      ("/nowhere/lamp", false, "/nowhere/lamp can't be run: "),
      ("/nowhere/lamp on", false, "run = [\"/nowhere/lamp\", \"on\"]"),
      ("/home/nobody/lamp", true, "the service sees no home directories"),
    ])
  func programs(path: String, isService: Bool, why: String) {
    #expect(Hook.hindrance(to: "/bin/sh", isService: isService) == nil)
    #expect(Hook.hindrance(to: path, isService: isService)?.contains(why) == true)
    let file = Self.read("[[rule]]\nrun = ['/bin/lamp', 'on']\n[[hook]]\nevent = 'media'\nrun = '/bin/x'")
    #expect(file.programs.map { "\($0.place) \($0.path)" } == ["f:2:7 /bin/lamp", "f:5:7 /bin/x"])
  }

  @Test(
    "A wrong file is one line with its place and the number of other faults; one that others may write to is refused",
    arguments: [
      (
        "nam = 'x'\nio = 5\n", 0o644,
        "PATH:1:1: there is no setting “nam”; did you mean name? “ancsd config check PATH” shows 1 more"
      ),
      ("name = 'x'", 0o666, "chmod go-w PATH"), ("name = 'x'", 0o664, "chmod go-w PATH"),
    ] as [(String, mode_t, String)])
  func refused(text: String, mode: mode_t, why: String) throws {
    let path = try file(text, mode: mode)
    let failure = try #require(throws: Failure.self) { try Settings(["--config", path]) }
    #expect(failure.status == .badSettings)
    #expect(failure.line.contains(why.replacing("PATH", with: path)), "\(failure.line)")
  }

  @Test("A file that is named has to be there")
  func missing() {
    let failure = #expect(throws: Failure.self) { try Settings(["--config", "/nowhere/x.toml"]) }
    #expect(failure?.status == .noInput)
  }

  /// Settings of a file with this text.
  private static func settings(_ text: String) throws -> Settings {
    try Settings(["-v"]) { _ throws(Failure) in read(text) }
  }

  @Test("What is read again is in force at once, or waits for as long as it differs from the start")
  func waiting() throws {
    var settings = SettingsInForce(try Self.settings("name = 'x'\nfetch = 'none'\ngrace = 5\n"))
    settings.replace(with: try Self.settings("name = 'y'\n\nio = 'display'\nfetch = 'all'\n[quirks]\nphy = '1m'"))
    func line(_ name: String, _ value: String, _ line: Int) -> SettingsReport.Setting {
      .init(name, value, file: "f", line: line, .nextStart)
    }
    #expect(
      settings.waiting(on: []) == [
        line("name", #""y""#, 1), line("io", #""display""#, 3), line("quirks.phy", #""1m""#, 6),
      ])
    #expect(settings.start.name == "x" && settings.radio == RadioSettings())
    #expect(settings.live.fetch == .all && settings.live.grace == .seconds(120))
    #expect(
      settings.report(on: []).settings.map { "\($0.name) \($0.value ?? "")" } == [
        #"name "x""#, #"fetch "all""#, "verbose true",
      ])
    settings.replace(with: try Self.settings("pairable = false\nname = 'x'"))
    #expect(settings.waiting(on: []).isEmpty)
    settings.replace(with: try Self.settings(""))
    #expect(settings.waiting(on: []) == [.init("name", nil, .nextStart)])
  }

  @Test("A link keeps the assumptions that it has begun with, and later ones wait for its end")
  func links() throws {
    var settings = SettingsInForce(try Self.settings("[quirks]\nhandles = 'hash'"))
    let link = settings.latest
    settings.replace(with: try Self.settings("[quirks]\nprobe = '60'"))
    let links = [link, settings.latest]
    let probe = SettingsReport.Setting("quirks.probe", #""60""#, file: "f", line: 2, .newLink)
    #expect(settings.waiting(on: links) == [probe, .init("quirks.handles", nil, .newLink)])
    #expect(!settings.report(on: links).settings.contains(probe))
    #expect(settings.quirks.handles == .assume)
    #expect(settings.waiting(on: []).isEmpty && settings.report(on: []).settings.contains(probe))
  }

  @Test("The options page says when a change of each takes effect, as the daemon does")
  func page() throws {
    let options = try Repository.text("docs/interface.md").split(separator: "\n")
      .drop { $0 != "### run" }.prefix { $0 != "### Clients of the daemon" }
      .joined(separator: " ")
    // The lines “- *live*, …: `--fetch`, …”, behind which come the options.
    let lists = options.split(separator: " **").first.map { $0.split(separator: "- ") } ?? []
    for form in Grammar.run.options.map(\.form) {
      guard let name = form.settingName, let effect = form.effect else { continue }
      let word = effect.rawValue.replacing("-", with: " ")
      let told = lists.first { $0.contains("`--\(name)`") } ?? "*next start*"
      #expect(told.contains("*\(word)*") && options.contains("`--\(name)"), "--\(name)")
    }
  }
}
