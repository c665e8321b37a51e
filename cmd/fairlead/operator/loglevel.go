// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// logLevelPath is the path at which the components of Kubernetes serve the level of their logs.
const logLevelPath = "/debug/flags/v"

// maxLevelText bounds a request for another level, in bytes.
const maxLevelText = 16

// LogLevel is the level of a logger. A change lasts until the process ends; after that, the level of the configuration
// applies.
type LogLevel struct{ is slog.LevelVar }

// Set sets the level to one of those that the configuration allows.
func (l *LogLevel) Set(to options.Level) error {
	verbosity, err := options.Logging{Level: to}.Verbosity()
	switch {
	case err != nil:
		return err
	case verbosity == options.QuietLevel:
		l.is.Set(slog.LevelError)
	default:
		l.is.Set(slog.Level(-verbosity)) // logr's verbosity n is slog's level -n
	}
	return nil
}

// ServeHTTP sets the level to that in the body of a POST.
func (l *LogLevel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLevelText))
	level := options.Level(strings.TrimSpace(string(text)))
	if err == nil {
		err = l.Set(level)
	}
	if err != nil {
		http.Error(w, "the level "+err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = fmt.Fprintf(w, "the level of the log is %s\n", level) // an error means that the client is gone
}
