// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/test/framework"
	"github.com/fairlead-dev/fairlead/test/node"
)

// maxLog bounds what is kept of one container's log.
const maxLog = 16 << 20

// keepLogs copies what the operator's containers print, until ctx ends: the kubelet removes a log with
// its pod, and the pod that a failure asks about is gone by then. Without a folder it does nothing.
func keepLogs(ctx context.Context, folder string) error {
	if folder == "" {
		return nil
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		if err := copyLogs(folder); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func copyLogs(folder string) error {
	found, err := filepath.Glob(filepath.Join(node.Logs, framework.Namespace+"_*", "*", "*.log"))
	if err != nil {
		return err
	}
	for _, from := range found {
		pod, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(filepath.Dir(filepath.Dir(from))), framework.Namespace+"_"), "_")
		if err := appendNew(from, filepath.Join(folder, pod+"-"+filepath.Base(from))); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// appendNew appends what a log has grown by since the last time.
func appendNew(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	have, err := target.Seek(0, io.SeekEnd)
	if err == nil {
		if _, err = source.Seek(have, io.SeekStart); err == nil {
			_, err = io.Copy(target, io.LimitReader(source, max(0, maxLog-have)))
		}
	}
	if closeErr := target.Close(); err == nil {
		err = closeErr
	}
	return err
}
