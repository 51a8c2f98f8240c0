// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
import Wire

extension NotificationReport {
  /// The maximum lines of a message in an event; `ancsd show` shows all.
  private static let messageLines = 4

  /// The notification as an event: app, title and subtitle, number and actions; below them the
  /// message.
  ///
  ///     07:00:12 + Messages Anna · To you & Bob  #12 [+Reply -Clear]
  ///              Dinner tonight?
  func lines(head: StyledText, received: WallTime, _ style: TextStyle, indent: Int) -> [String] {
    var first = head
    switch event.change {
    case .added: first.add("+", event.flags.contains(.important) ? .attention : .good)
    case .modified: first.add("~", .attention)
    case .removed: first.add("-", .faint)
    default: first.add("?", .faint)
    }
    first.add(subject())
    addDate(to: &first, received: received, style)
    first.add(tail())
    return first.lines(style, indent: indent)
      + (event.change == .removed ? [] : messageLines(style, indent: indent))
  }

  /// The notification in a list, as `ancsd list` prints it: its date by the board's clock, then as in an event.
  public func listing(_ style: TextStyle, now: WallTime) -> String {
    var first = StyledText()
    let date = time(boardZone: style.zone).map { style.dateText($0, now: now) }
    let indent = style.isNarrow ? 2 : 17
    if let date = date ?? (style.isNarrow ? nil : String(repeating: " ", count: indent - 1)) {
      first.addWhole(date, .faint)
    }
    first.add(subject())
    first.add(tail())
    return (first.lines(style, indent: indent) + messageLines(style, indent: indent))
      .joined(separator: "\n")
  }

  /// When it was sent, in UTC.
  ///
  /// - Parameter boardZone: the board's offset from UTC in seconds, used if the phone's is not known.
  public func time(boardZone: Int) -> WallTime? {
    sent ?? attributes.date.map { WallTime(seconds: $0.secondsSince1970 - Int64(boardZone)) }
  }

  private func messageLines(_ style: TextStyle, indent: Int) -> [String] {
    message.lines(style, indent: indent, hanging: false, maximum: Self.messageLines)
  }

  /// The message, with an ellipsis if the phone truncated it; empty if there is none.
  package var message: StyledText {
    guard let message = attributes.message, !message.isEmpty else { return StyledText() }
    var text = StyledText(message)
    if attributes.truncated.contains(.message), message.last != "…" {
      text.add("…", .faint, joined: true)
    }
    return text
  }

  /// App, title and subtitle. A title that only repeats the app's name is omitted.
  ///
  /// - Parameters:
  ///   - isBrief: omits the app if there is a title.
  ///   - appWidth: the columns that the app's name may take next to a title.
  package func subject(isBrief: Bool = false, appWidth: Int = .max) -> StyledText {
    var line = StyledText()
    let faint = event.change == .removed
    let app = self.app.flatMap(\.ifVisible) ?? attributes.appIdentifier?.ifVisible ?? ""
    let title = attributes.title.flatMap { $0 == app ? nil : $0.ifVisible }
    if title == nil {
      line.add(app, faint ? .faint : .app)
    } else if !isBrief {
      line.add(app.printable.cut(toDisplayWidth: appWidth), faint ? .faint : .app)
    }
    if let title { line.add(title, faint ? .faint : .strong) }
    if let subtitle = attributes.subtitle?.ifVisible {
      if title != nil { line.add("·", .faint) }
      line.add(subtitle, faint ? .faint : .plain)
    }
    if app.isEmpty, title == nil { line.add(event.category.description, faint ? .faint : .app) }
    return line
  }

  /// The notification's own date, if it differs from the time of its arrival: a message that
  /// waited, or a board whose clock is wrong.
  private func addDate(to line: inout StyledText, received: WallTime, _ style: TextStyle) {
    guard let sent = time(boardZone: style.zone), abs(sent.seconds - received.seconds) > 90 else {
      return
    }
    let (date, local) = (style.localTime(sent), style.localTime(received))
    let sameDay = date.dateText == local.dateText
    line.add("(\(sameDay ? "" : date.dateText + " ")\(date.timeText.prefix(5)))", .faint)
  }

  /// Number, category, flags and actions.
  ///
  /// - Parameters:
  ///   - isBrief: omits details that need no attention and are not actions.
  ///   - isNumbered: whether to include the number.
  ///   - labelWidth: the columns that each action's label may take; if they are limited, an exclamation mark means
  ///     important.
  package func tail(isBrief: Bool = false, isNumbered: Bool = true, labelWidth: Int = .max) -> StyledText {
    var line = isNumbered ? StyledText("#\(event.uid)", .faint) : StyledText()
    if event.change == .removed {
      line.add("removed", .faint)
      return line
    }
    let flags = event.flags
    if event.category != .other, !isBrief { line.add(event.category.description, .faint) }
    for flag in [EventFlags.important, .silent, .preExisting] where flags.contains(flag) {
      if flag == .important {
        line.add(labelWidth < .max ? "!" : flag.names.joined(), .attention)
      } else if !isBrief {
        line.add(flag.names.joined(), .faint)
      }
    }
    if display == .urgent { line.add("urgent", .attention) }
    if isRepeat, !isBrief { line.add("repeat", .faint) }
    if isStale { line.add("stale", .attention) }
    let actions = [("+", NotificationAction.positive), ("-", .negative)].compactMap {
      sign, action in has(action) ? sign + label(of: action, columns: labelWidth) : nil
    }
    if !actions.isEmpty { line.add("[\(actions.joined(separator: " "))]", .good) }
    if let failure { line.add("(\(failure))", .bad) }
    return line
  }

  /// Whether it has the action, by its flags.
  package func has(_ action: NotificationAction) -> Bool { event.flags.contains(action.flag) }

  /// The action's label, if the phone gave one.
  package func label(of action: NotificationAction) -> String? {
    let label = action == .positive ? attributes.positiveActionLabel : attributes.negativeActionLabel
    return label.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// An action's label, or the word that `act` takes if the phone gave none that is visible; it has no control
  /// characters, and at most this many columns.
  package func label(of action: NotificationAction, columns: Int) -> String {
    (label(of: action)?.ifVisible ?? "\(action)").printable.cut(toDisplayWidth: columns)
  }

  /// The date by the board's clock, how long ago that is, and the time on the phone's clock, if different.
  private func dateDetails(_ style: TextStyle, now: WallTime?) -> String? {
    guard let date = attributes.date, let sent = time(boardZone: style.zone) else { return nil }
    let local = style.localTime(sent)
    var notes: [String] = []
    if let now, now >= sent { notes.append("\(StatusReport.age(from: sent, to: now)) ago") }
    if date != local { notes.append("\(date.dateText) \(date.timeText) there") }
    return "\(local.dateText) \(local.timeText)"
      + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))")
  }

  /// All attributes, as `ancsd show` prints them: one name and value per line.
  ///
  /// - Parameter now: the current time, to show how long ago it was sent; nil omits that.
  public func details(_ style: TextStyle, now: WallTime? = nil) -> String {
    detailRows(style, now: now).map { $0.text(style) }.joined(separator: "\n")
  }

  /// The lines of `details`.
  package func detailRows(_ style: TextStyle, now: WallTime?) -> [StyledRow] {
    let appID = attributes.appIdentifier
    let flags = event.flags
    let values: [(String, String?)] = [
      ("app", app), ("app id", appID == app ? nil : appID), ("title", attributes.title),
      ("subtitle", attributes.subtitle), ("date", dateDetails(style, now: now)),
      ("category", "\(event.category) (\(event.categoryCount)\(event.categoryCount == .max ? " or more" : "") active)"),
      ("flags", flags.labels.joined(separator: " ")),
      ("positive", flags.contains(.positiveAction) ? attributes.positiveActionLabel ?? "yes" : nil),
      ("negative", flags.contains(.negativeAction) ? attributes.negativeActionLabel ?? "yes" : nil),
      ("size", attributes.messageSize.map { "\($0) bytes" }), ("error", failure),
      ("truncated", attributes.truncated.map { $0.name ?? "\($0)" }.joined(separator: " ")),
    ]
    var rows = StyledText("#\(event.uid)", .strong).rows(style)
    for (name, value) in values {
      guard let value, !value.isEmpty else { continue }
      var line = StyledText()
      line.addWhole(name + String(repeating: " ", count: max(0, 9 - name.utf8.count)), .faint)
      line.add(value, name == "title" || name == "app" ? .strong : .plain)
      rows += line.rows(style, indent: style.isNarrow ? 2 : 10)
    }
    for paragraph in (attributes.message ?? "").printableLines.split(separator: "\n") {
      rows += StyledText(String(paragraph)).rows(style, indent: 2, hanging: false)
    }
    return rows
  }
}

extension String {
  /// The text, unless nothing of it is to be seen.
  fileprivate var ifVisible: String? {
    printable.contains { $0 != " " && $0.displayWidth > 0 } ? self : nil
  }
}
