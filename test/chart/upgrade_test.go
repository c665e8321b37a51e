// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	kubefake "helm.sh/helm/v4/pkg/kube/fake"
	"helm.sh/helm/v4/pkg/release"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
)

// released is the chart of a version whose image has a digest of one letter.
func released(t *testing.T, version, letter string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "fairlead")
	image := "registry.example.com/fairlead:" + version + "@sha256:" + strings.Repeat(letter, 64)
	if err := errors.Join(os.CopyFS(folder, os.DirFS(generated(t))), setVersion(folder, version), setImage(folder, image)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// images are those of the pods of a release.
func images(t *testing.T, made release.Releaser) []string {
	t.Helper()
	of, ok := made.(*releasev1.Release)
	if !ok {
		t.Fatalf("a release of %T", made)
	}
	all := regexp.MustCompile(`(?m)^ *image: .*$`).FindAllString(of.Manifest, -1)
	for _, hook := range of.Hooks {
		all = append(all, regexp.MustCompile(`(?m)^ *image: .*$`).FindAllString(hook.Manifest, -1)...)
	}
	for n := range all {
		all[n] = strings.TrimSpace(all[n])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Whatever a user's values repeat of the release before, the new one is what its chart was released with.
func TestAnUpgradeHasTheImageOfTheNewReleaseInEachWayOfValues(t *testing.T) {
	first, second := released(t, "v1.2.3", "a"), released(t, "v1.2.4", "b")
	own := map[string]any{"image": map[string]any{"repository": "mirror.example.com/fairlead"}}
	pinned := map[string]any{"image": map[string]any{"repository": "mirror.example.com/fairlead", "tag": "v1.2.3-patched"}}
	reuse := func(u *action.Upgrade) { u.ReuseValues = true }
	resetThenReuse := func(u *action.Upgrade) { u.ResetThenReuseValues = true }
	kubernetes, err := common.ParseKubeVersion("v1.37.0")
	if err != nil {
		t.Fatal(err)
	}
	digest := "@sha256:" + strings.Repeat("b", 64)
	for name, test := range map[string]struct {
		values map[string]any
		how    func(*action.Upgrade)
		want   string
	}{
		"no values, reused":                    {nil, reuse, "registry.example.com/fairlead" + digest},
		"no values, reset and reused":          {nil, resetThenReuse, "registry.example.com/fairlead" + digest},
		"no values, reset":                     {nil, func(u *action.Upgrade) { u.ResetValues = true }, "registry.example.com/fairlead" + digest},
		"a repository of one's own, reused":    {own, reuse, "mirror.example.com/fairlead" + digest},
		"an image of one's own, which is kept": {pinned, resetThenReuse, "mirror.example.com/fairlead:v1.2.3-patched"},
	} {
		t.Run(name, func(t *testing.T) {
			configuration := action.NewConfiguration()
			configuration.Releases, configuration.KubeClient = storage.Init(driver.NewMemory()), &kubefake.PrintingKubeClient{Out: io.Discard, LogOutput: io.Discard}
			configuration.Capabilities = common.DefaultCapabilities.Copy()
			configuration.Capabilities.KubeVersion = *kubernetes
			before, err := loader.Load(first)
			if err != nil {
				t.Fatal(err)
			}
			after, err := loader.Load(second)
			if err != nil {
				t.Fatal(err)
			}
			install := action.NewInstall(configuration)
			install.ReleaseName, install.Namespace = "fl", "a"
			if _, err := install.Run(before, test.values); err != nil {
				t.Fatal(err)
			}
			upgrade := action.NewUpgrade(configuration)
			upgrade.Namespace = "a"
			test.how(upgrade)
			made, err := upgrade.Run("fl", after, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := images(t, made); !slices.Equal(got, []string{`image: "` + test.want + `"`}) {
				t.Errorf("%q, want %s", got, test.want)
			}
		})
	}
}
