/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ncursesw (curses(3)) on standard input and output. Its screen is in global variables and its constants are casts, neither of
 * which Swift can use; this file only wraps them.
 */
#pragma once
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <wchar.h>

/* From <term.h>, which defines macros such as `columns`. */
extern char *tigetstr(const char *capability);

/* The width that ncurses gives a character; <wchar.h> only declares it for X/Open. */
extern int wcwidth(wchar_t character);

/* How long after an ESC the rest of a key's sequence may arrive, in milliseconds. */
enum { CURSES_ESCAPE_TIME = 50 };

/* Takes over the terminal. Its type is `type`, or that of TERM if null. Returns null if the type is unknown or cannot move the
 * cursor. With `mouse`, the wheel and clicks are read, and text can be selected with Shift held. */
static inline SCREEN *curses_open(const char *type, int mouse) {
  SCREEN *screen = newterm(type, stdout, stdin);
  if (screen == NULL) return NULL;
  const char *move_cursor = tigetstr("cup");
  if (move_cursor == NULL || move_cursor == (const char *)-1) {
    endwin();
    delscreen(screen);
    return NULL;
  }
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(CURSES_ESCAPE_TIME);
  curs_set(0);
  mouseinterval(0);
  if (mouse) mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
  return screen;
}

/* Restores the terminal. Without an alternate screen, the shell continues on the last row, which is cleared for it. */
static inline void curses_close(SCREEN *screen) {
  mousemask(0, NULL);
  move(LINES - 1, 0);
  clrtoeol();
  refresh();
  endwin();
  delscreen(screen);
}

/* Rings the bell. */
static inline void curses_ring(void) { beep(); }

/* Makes the colours of ECMA-48 (SGR 31 to 37) available, on the terminal's own background. */
static inline void curses_use_colours(void) {
  if (!has_colors()) return;
  start_color();
  use_default_colors();
  for (short colour = 1; colour < 8; colour++) init_pair(colour, colour, -1);
}

/* Begins with an empty screen. Nothing is sent to the terminal until curses_show. */
static inline void curses_begin(void) { erase(); }

/* Continues at the left end of a row. */
static inline void curses_begin_row(int row) { move(row, 0); }

/* Adds text in a style of ECMA-48 (8.3.117, SGR): 0 plain, 1 bold, 2 faint, 7 reversed, 31 to 37 colours. */
static inline void curses_add(const wchar_t *text, int length, int style) {
  attr_t attributes = A_NORMAL;
  switch (style) {
    case 0: break;
    case 1: attributes = A_BOLD; break;
    case 2: attributes = A_DIM; break;
    case 7: attributes = A_REVERSE; break;
    default: if (has_colors() && style > 30 && style < 38) attributes = COLOR_PAIR(style - 30);
  }
  attrset(attributes);
  addnwstr(text, length);
}

/* Sends the changes to the terminal. The cursor stays at the end of the last text, or at the row begun last, and is shown if
 * wanted. */
static inline void curses_show(int with_cursor) {
  curs_set(with_cursor ? 1 : 0);
  refresh();
}

/* The window's size has changed. */
static inline void curses_resize(int rows, int columns) {
  resizeterm(rows, columns);
  clearok(curscr, TRUE);
}

/* The next key that was pressed: OK with a character, KEY_CODE_YES with one of the KEY_ numbers, ERR, or
 * KEY_MOUSE with the row of a click. The wheel is KEY_SR (up) and KEY_SF. */
static inline int curses_next_key(unsigned *key) {
  wint_t value = 0;
  int kind = get_wch(&value);
  if (kind == KEY_CODE_YES && value == KEY_MOUSE) {
    MEVENT event;
    value = 0;
    if (getmouse(&event) == OK) {
      if (event.bstate & BUTTON1_PRESSED) {
        *key = (unsigned)event.y;
        return KEY_MOUSE;
      }
      if (event.bstate & BUTTON4_PRESSED) value = KEY_SR;
      if (event.bstate & BUTTON5_PRESSED) value = KEY_SF;
    }
  }
  *key = (unsigned)value;
  return kind;
}
