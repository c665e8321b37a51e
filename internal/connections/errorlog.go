// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"bytes"
	stdlog "log"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/fairlead-dev/fairlead/internal/text"
)

// errorLog hands the lines of http.Server to the logger: a few each second, as any client that can
// reach the port can cause them, and the number of those left out.
type errorLog struct {
	options LogOptions

	mu      sync.Mutex
	limiter *rate.Limiter
	dropped int
}

// LogOptions configure the log of a server's connections.
type LogOptions struct {
	Logger logr.Logger
	// Message begins each line, such as "Webhook connection error".
	Message string
	// Handshakes counts those of TLS that failed. Defaults to nil: they are not counted.
	Handshakes prometheus.Counter
	// Ignore is an error that is logged elsewhere. Defaults to nil: none is.
	Ignore error
}

// NewErrorLog returns a log for http.Server.ErrorLog.
func NewErrorLog(o LogOptions) *stdlog.Logger {
	return stdlog.New(&errorLog{options: o, limiter: rate.NewLimiter(rate.Every(time.Second), 10)}, "", 0)
}

// handshakePrefix is how net/http begins the line about a failed handshake. It tells of them in no
// other way.
var handshakePrefix = []byte("http: TLS handshake error")

// Write takes one line.
func (l *errorLog) Write(line []byte) (int, error) {
	if l.options.Handshakes != nil && bytes.HasPrefix(line, handshakePrefix) {
		l.options.Handshakes.Inc()
	}
	if l.options.Ignore != nil && bytes.Contains(line, []byte(l.options.Ignore.Error())) {
		return len(line), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.limiter.Allow() {
		l.dropped++
		return len(line), nil
	}
	message := text.Truncate(string(bytes.TrimSpace(line)), 1024)
	if l.dropped > 0 {
		l.options.Logger.Info(l.options.Message, "error", message, "leftOutBefore", l.dropped)
	} else {
		l.options.Logger.Info(l.options.Message, "error", message)
	}
	l.dropped = 0
	return len(line), nil
}
