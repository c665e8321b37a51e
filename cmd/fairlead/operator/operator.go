// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/memory"
)

// Options of New.
type Options struct {
	// Logger is the logger of all parts.
	Logger logr.Logger
	// LogLevel changes the level of the logger by a request to the metrics server. Defaults to nil: the server has no
	// such path.
	LogLevel *LogLevel
	// Version is shown on /statusz and sent as part of the user agent. Version and Commit are labels of fairlead_build_info.
	Version, Commit string
	// Metrics registers all metrics. Defaults to the registry of controller-runtime, which the metrics
	// server exposes.
	Metrics prometheus.Registerer
	// Dial connects to addresses outside of the cluster that the egress policy allows. Defaults to the network.
	Dial func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
	// Reconciles receives a line of JSON when this replica begins or stops to lead, or to reconcile an object. Defaults
	// to nil: no line is written.
	Reconciles io.Writer
	// Silence is Silence of apitransport.Options.
	Silence time.Duration
	// Clock is the clock for the validity of certificates. Leader election measures elapsed time without it. Defaults to
	// the real clock.
	Clock clock.WithTicker
}

// New assembles the operator from a validated configuration. It reads the kubeconfig, and sends no request.
func New(c *options.Configuration, o Options) (*Operator, error) {
	if o.Metrics == nil {
		o.Metrics = ctrlmetrics.Registry
		if err := reduceGoMetrics(o.Metrics); err != nil {
			return nil, err
		}
	}
	if err := registerBuildInfo(o.Metrics, c, o.Version, o.Commit); err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	self, err := newIdentity(c, os.Getenv, namespaceFile)
	if err != nil {
		return nil, err
	}
	traces, err := newTraces(c.Tracing, o.Version, self, o.Logger.WithName("tracing"))
	if err != nil {
		return nil, err
	}
	api, err := connect(c.ClientConnection, "fairlead-manager/"+o.Version, o.Silence)
	if err != nil {
		return nil, err
	}
	offset, err := newClockOffset(o.Clock, o.Metrics, o.Logger.WithName("clock"))
	if err != nil {
		return nil, err
	}
	api.rest.Wrap(offset.wrap)
	traces.send(api.rest)
	LimitMemory(o.Logger) // before the components whose limits are a share of it
	if c.Controllers.Enabled {
		memory.SetGCPercent(gcPercent)
	}
	named, leftOut := allKinds().split(c)
	a := &assembly{
		config: c, kinds: named, leftOut: leftOut, identity: self, version: o.Version, api: api, dial: o.Dial, clock: o.Clock, offset: offset,
		traces: traces, level: o.LogLevel,
		logger: o.Logger, metrics: o.Metrics, leadershipLog: newLeadershipLog(self.id, o.Reconciles, o.Logger),
	}
	return a.assemble()
}
