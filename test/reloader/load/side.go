// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench/subject"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
	"github.com/fairlead-dev/fairlead/test/reloader"
)

// program is one of the two as it runs.
type program interface {
	PID() int
	Stop()
}

// Sides are the names of the two.
const (
	Reloader = "Reloader"
	Fairlead = "Fairlead"
)

// reloaderUser is the name of Reloader's user, which the audit policy of test/bench/restarts knows.
const reloaderUser = "reloader"

// reloaderArguments are Reloader's. Its own scenarios annotate each workload.
const reloaderArguments = "--auto-reload-all=false"

// reloaderPage responds once Reloader has its watches. It has no flag for another port.
const reloaderPage = "http://127.0.0.1:9090/live"

// build builds Reloader.
func (r *run) build(ctx context.Context) error {
	source := reloader.Source{Inputs: r.Inputs, Folder: filepath.Join(r.Root, "bin", "reloader")}
	if err := errors.Join(os.MkdirAll(source.Folder, 0o750), source.Prepare(ctx)); err != nil {
		return err
	}
	r.say("building Reloader")
	r.reloader = filepath.Join(source.Folder, "reloader")
	return source.Go(ctx, "build", "-ldflags=-s -w", "-o", r.reloader, ".")
}

// start starts the program of a side, and returns once it works.
func (r *run) start(ctx context.Context, side string, on *framework.Cluster) (program, error) {
	if side == Fairlead {
		return r.startFairlead(ctx, on)
	}
	user, err := on.User(reloaderUser, "system:masters")
	if err != nil {
		return nil, err
	}
	return on.Run(ctx, cluster.Spec{
		Name: "reloader", Path: r.reloader, Env: []string{"KUBECONFIG=" + user.Kubeconfig, "RELOADER_NAMESPACE=default"},
		Args:  func() ([]string, error) { return []string{reloaderArguments}, nil },
		Ready: isLive,
	})
}

func isLive(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, reloaderPage, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", reloaderPage, response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// installed is how Reloader runs, for `fairlead migrate`.
const installed = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: reloader, namespace: default}, spec: {
  selector: {matchLabels: {app: reloader}}, template: {metadata: {labels: {app: reloader}}, spec: {containers: [
    {name: reloader, image: ghcr.io/stakater/reloader, args: ["` + reloaderArguments + `"]}]}}}}`

// startFairlead starts one process of the operator, and makes the policy that takes the place of Reloader.
func (r *run) startFairlead(ctx context.Context, on *framework.Cluster) (*subject.Subject, error) {
	manifests := []string{installed}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} { // those of the scenarios
		manifests = append(manifests, reloader.Sample(kind, "default"))
	}
	var said bytes.Buffer
	policy, err := reloader.Policy(ctx, filepath.Join(r.Root, "bin", "fairlead"), "reloader", strings.Join(manifests, "\n---\n"), &said)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.String())
	}
	s, err := subject.Start(ctx, on, append([]string{reloader.RestartsAlone}, r.Arguments...)...)
	if err != nil {
		return nil, err
	}
	err = framework.Eventually(ctx, time.Minute, func(ctx context.Context) error { // until the webhooks are reached
		said.Reset()
		if err := on.KubectlIO(ctx, bytes.NewReader(policy), io.Discard, &said, "apply", "-f", "-"); err != nil {
			return fmt.Errorf("%w: %s", err, said.String())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, err = on.Kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=60s", "clusterrebootpolicy/reloader")
	return s, err
}
