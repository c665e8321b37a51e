// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/fairlead-dev/fairlead/test/node"
	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

// The images of the chart, at two versions. They have the names that the chart gives them.
const (
	ChartRepository = "docker.io/library/fairlead"
	ChartFormer     = "v0.1.0"
	ChartCurrent    = "v0.1.1"
)

// ChartOptions of Chart.
type ChartOptions struct {
	// Root is the checkout.
	Root string
	// Program is the compiled test of test/install, which has Helm's library and is a module of its own.
	Program string
	// Versions is the folder with the charts, which that module's command wrote.
	Versions string
	// CertManager is the file of cert-manager's manifests, whose image the node has.
	CertManager string
	// Output takes what the test prints. Default: none.
	Output io.Writer
}

// Chart installs Fairlead by its chart on an empty node, upgrades it from the previous version, has its certificates issued by
// cert-manager, rolls back, and uninstalls. It is the test of installations, with the node in place of processes on this host.
// It returns a row for each step under load. It leaves a namespace, and otherwise only what the guide about uninstalling names.
func Chart(ctx context.Context, n *node.Node, o ChartOptions) ([]Row, error) {
	figures := filepath.Join(o.Versions, "figures.json")
	command := exec.CommandContext(ctx, o.Program, "-test.v", "-test.timeout=30m", "-test.run=^TestAnInstallationByChartIsUpgradedRolledBackAndRemoved$")
	command.Dir = filepath.Join(o.Root, "test", "install")
	command.Env = append(n.Environment(), "HOME="+os.Getenv("HOME"), "TMPDIR="+os.TempDir(),
		"FAIRLEAD_INSTALL_NODE="+n.Kubeconfig(), "FAIRLEAD_INSTALL_VERSIONS="+o.Versions, "FAIRLEAD_INSTALL_FIGURES="+figures,
		"FAIRLEAD_INSTALL_CERTMANAGER="+o.CertManager)
	command.Stdout, command.Stderr, command.WaitDelay = o.Output, o.Output, time.Second
	failed := command.Run()
	if failed != nil {
		failed = fmt.Errorf("the installation by the chart: %w", failed)
	}
	rows, err := readRows(figures)
	return rows, errors.Join(failed, err)
}

// readRows reads what the test of installations has counted.
func readRows(path string) ([]Row, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var counted []struct {
		Scenario       string
		Sent, Failed   int
		P50, P99, Took time.Duration
	}
	if err := json.Unmarshal(content, &counted); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(counted) == 0 {
		return nil, fmt.Errorf("%s: no step was counted", path)
	}
	rows := make([]Row, 0, len(counted))
	for _, c := range counted {
		rows = append(rows, Row{
			Scenario: c.Scenario + " on a real node", Strict: true, Took: c.Took,
			Sum: counters.Sum{Sent: c.Sent, Failed: c.Failed, P50: c.P50, P99: c.P99},
		})
	}
	return rows, nil
}
