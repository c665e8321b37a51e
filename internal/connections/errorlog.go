// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	stdlog "log"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
)

// errorLog hands the lines of http.Server to the logger: a few each second, as any client that can
// reach the port can cause them, and the number of those left out.
type errorLog struct {
	log        logr.Logger
	handshakes prometheus.Counter

	mu      sync.Mutex
	limiter *rate.Limiter
	dropped int
}

func newErrorLog(log logr.Logger, handshakes prometheus.Counter) *stdlog.Logger {
	return stdlog.New(&errorLog{
		log:        log,
		handshakes: handshakes,
		limiter:    rate.NewLimiter(rate.Every(time.Second), 10),
	}, "", 0)
}

// handshakePrefix is how net/http begins the line about a failed handshake. It tells of them in no
// other way.
var handshakePrefix = []byte("http: TLS handshake error")

// Write takes one line.
func (l *errorLog) Write(line []byte) (int, error) {
	if bytes.HasPrefix(line, handshakePrefix) {
		l.handshakes.Inc()
	}
	if bytes.Contains(line, []byte(errCaller.Error())) {
		return len(line), nil // logged with its reason, and less often
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.limiter.Allow() {
		l.dropped++
		return len(line), nil
	}
	message := string(bytes.TrimSpace(line[:min(len(line), 1024)]))
	if l.dropped > 0 {
		l.log.Info("Webhook connection error", "error", message, "leftOutBefore", l.dropped)
	} else {
		l.log.Info("Webhook connection error", "error", message)
	}
	l.dropped = 0
	return len(line), nil
}
