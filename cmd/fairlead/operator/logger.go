// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// NewLogger makes the one logger of the process, in the configured form.
func NewLogger(c options.Logging, to io.Writer) (logr.Logger, error) {
	verbosity, err := c.Verbosity()
	if err != nil {
		return logr.Logger{}, err
	}
	// logr's verbosity n is slog's level -n.
	handler := &slog.HandlerOptions{Level: slog.Level(-verbosity), ReplaceAttr: readableAttr}
	if verbosity == options.QuietLevel {
		handler.Level = slog.LevelError
	}
	if c.Format == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(to, handler)), nil
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(to, handler)), nil
}

// UseLogger makes controller-runtime and client-go, which log through globals, use the logger.
func UseLogger(logger logr.Logger) {
	ctrllog.SetLogger(logger)
	klog.SetLoggerWithOptions(logger.WithName("client-go"), klog.ContextualLogger(true))
}

// readableAttr writes durations as 1.5s rather than as nanoseconds, and every verbosity as debug
// rather than as an offset from a level of slog's.
func readableAttr(groups []string, a slog.Attr) slog.Attr {
	switch {
	case a.Value.Kind() == slog.KindDuration:
		return slog.String(a.Key, a.Value.Duration().String())
	case len(groups) == 0 && a.Key == slog.LevelKey:
		level, ok := a.Value.Any().(slog.Level)
		switch {
		case !ok:
			return a
		case level >= slog.LevelError:
			return slog.String(a.Key, "error")
		case level >= slog.LevelInfo:
			return slog.String(a.Key, "info")
		default:
			return slog.String(a.Key, "debug")
		}
	}
	return a
}
