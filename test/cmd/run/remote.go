// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// remote runs the operator here against a cluster that exists. The webhooks of its API server are
// pointed at localhost, so it must run on this host; the registrations are removed at the end,
// since nothing would serve them any more.
func remote(ctx context.Context, root, kubeconfig string) error {
	kubectl, err := client(ctx, root, kubeconfig)
	if err != nil {
		return err
	}
	replica := &framework.Replica{ID: "make-run"}
	args, err := replica.Arguments(kubeconfig)
	if err != nil {
		return err
	}
	_, text, err := net.SplitHostPort(replica.Webhook)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	say("installing Fairlead into the cluster of " + kubeconfig)
	if err := framework.Install(ctx, kubectl, root, port); err != nil {
		return err
	}
	defer withdraw(ctx, kubectl)

	say("starting the operator")
	running, end := context.WithCancel(ctx)
	operator := exec.CommandContext(running, filepath.Join(root, "bin", "fairlead"), args...)
	operator.Env = append(os.Environ(), "POD_NAMESPACE="+framework.Namespace)
	operator.Stdout, operator.Stderr = os.Stderr, os.Stderr
	operator.Cancel = func() error { return operator.Process.Signal(syscall.SIGTERM) }
	operator.WaitDelay = 90 * time.Second
	if err := operator.Start(); err != nil {
		end()
		return err
	}
	ended, gone := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- operator.Wait()
		close(gone)
	}()
	// However this ends, the operator does not outlive it.
	defer func() {
		end()
		<-gone
	}()
	if err := framework.Eventually(ctx, time.Minute, replica.Ready); err != nil {
		return fmt.Errorf("the operator's webhooks do not answer: %w", err)
	}
	for _, commands := range []func(string) [][]string{external, workloads} {
		if err := samples(ctx, kubectl, root, commands); err != nil {
			return err
		}
	}
	fmt.Printf("\nready: KUBECONFIG=%s\n\n", kubeconfig)
	restartHint(kubeconfig)
	fmt.Printf("\nCtrl-C ends the operator and removes its webhook configurations; the CRDs and objects stay.\n")
	if err := <-ended; ctx.Err() == nil {
		return fmt.Errorf("the operator ended: %w", err)
	}
	return nil
}

// withdraw removes what would refuse every write once the operator is gone, after ctx as well.
func withdraw(ctx context.Context, kubectl framework.Kubectl) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	if err := kubectl(ctx, nil, io.Discard, os.Stderr, append([]string{"delete", "--ignore-not-found",
		"mutatingwebhookconfigurations,validatingwebhookconfigurations"}, framework.WebhookConfigurations...)...); err != nil {
		fmt.Fprintln(os.Stderr, "run: the webhook registrations could not be removed:", err)
	}
}

// client returns kubectl for a cluster: the one on the PATH, or else one that is built.
func client(ctx context.Context, root, kubeconfig string) (framework.Kubectl, error) {
	path, err := exec.LookPath("kubectl")
	if err != nil {
		folder, err := cluster.Build(ctx, cluster.BuildOptions{Root: root, Programs: []string{cluster.Kubectl}, Prebuilt: true, Output: os.Stderr})
		if err != nil {
			return nil, err
		}
		path = filepath.Join(folder, cluster.Kubectl)
	}
	return func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args ...string) error {
		command := exec.CommandContext(ctx, path, append([]string{"--kubeconfig=" + kubeconfig}, args...)...)
		command.Stdin, command.Stdout, command.Stderr = stdin, stdout, stderr
		return command.Run()
	}, nil
}
