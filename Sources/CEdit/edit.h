/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libedit in unbuffered mode (editline(3), EL_UNBUFFERED), in which it handles one key at a time. Swift cannot call variadic
 * functions; this file only wraps them.
 */
#pragma once
#include <histedit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct edit {
  EditLine *line;
  History *history;
  char prompt[256];
  /* The current key: its characters, and how many of them libedit has read. */
  wchar_t key[16];
  int length;
  int taken;
};

static inline char *edit_prompt(EditLine *line) {
  struct edit *edit = NULL;
  el_get(line, EL_CLIENTDATA, &edit);
  return edit->prompt;
}

/* Where libedit reads: the characters of the key, then the end of the input. */
static inline int edit_read(EditLine *line, wchar_t *character) {
  struct edit *edit = NULL;
  el_get(line, EL_CLIENTDATA, &edit);
  if (edit->taken >= edit->length) return 0;
  *character = edit->key[edit->taken++];
  return 1;
}

/* An editor on standard input and output; null without a terminal, or if memory is short. */
static inline struct edit *edit_open(int remembered) {
  struct edit *edit = calloc(1, sizeof *edit);
  if (edit == NULL) return NULL;
  edit->line = el_init("ancsd", stdin, stdout, stderr);
  edit->history = history_init();
  if (edit->line == NULL || edit->history == NULL) {
    if (edit->line != NULL) el_end(edit->line);
    if (edit->history != NULL) history_end(edit->history);
    free(edit);
    return NULL;
  }
  HistEvent event;
  history(edit->history, &event, H_SETSIZE, remembered);
  history(edit->history, &event, H_SETUNIQUE, 1);
  el_set(edit->line, EL_CLIENTDATA, edit);
  el_set(edit->line, EL_PROMPT, edit_prompt);
  el_set(edit->line, EL_EDITOR, "emacs");
  el_set(edit->line, EL_SIGNAL, 0);
  el_set(edit->line, EL_HIST, history, edit->history);
  el_set(edit->line, EL_GETCFN, edit_read);
  /* By default these keys read more input. */
  el_set(edit->line, EL_BIND, "^R", "ed-redisplay", NULL);
  el_set(edit->line, EL_BIND, "^S", "ed-redisplay", NULL);
  el_set(edit->line, EL_BIND, "^W", "ed-delete-prev-word", NULL);
  return edit;
}

static inline void edit_close(struct edit *edit) {
  el_end(edit->line);
  history_end(edit->history);
  free(edit);
}

static inline void edit_set_prompt(struct edit *edit, const char *prompt) {
  snprintf(edit->prompt, sizeof edit->prompt, "%s", prompt);
}

/* On: makes the terminal raw and shows the prompt with an empty line. Off: restores the terminal. */
static inline void edit_set_active(struct edit *edit, int on) {
  el_set(edit->line, EL_UNBUFFERED, on);
}

/* Draws the prompt and the line at the cursor. */
static inline void edit_refresh(struct edit *edit) { el_set(edit->line, EL_REFRESH); }

/* Handles one key; returns the line if the key ends it, otherwise NULL. */
static inline const char *edit_handle_key(struct edit *edit, const unsigned *key, int length) {
  int count = 0;
  const int room = (int)(sizeof edit->key / sizeof edit->key[0]);
  edit->length = length < room ? length : room;
  edit->taken = 0;
  for (int place = 0; place < edit->length; place++) edit->key[place] = (wchar_t)key[place];
  const char *line = el_gets(edit->line, &count);
  edit->length = edit->taken = 0;
  return line != NULL && count > 0 && line[count - 1] == '\n' ? line : NULL;
}

static inline void edit_remember(struct edit *edit, const char *line) {
  HistEvent event;
  history(edit->history, &event, H_ENTER, line);
}

/* Reads the history from a file, and writes it to one that only its owner can read (history(3)). */
static inline void edit_load(struct edit *edit, const char *path) {
  HistEvent event;
  history(edit->history, &event, H_LOAD, path);
}

static inline void edit_save(struct edit *edit, const char *path) {
  HistEvent event;
  history(edit->history, &event, H_SAVE, path);
}

/* The start of the line, the cursor, and the end of the line. */
static inline const char *edit_start(struct edit *edit) { return el_line(edit->line)->buffer; }
static inline const char *edit_cursor(struct edit *edit) { return el_line(edit->line)->cursor; }
static inline const char *edit_end(struct edit *edit) { return el_line(edit->line)->lastchar; }

static inline int edit_insert(struct edit *edit, const char *text) {
  return el_insertstr(edit->line, text);
}
