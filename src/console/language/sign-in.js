export const en = {
  sign_in: 'Sign in',
  signing_in: 'Signing in…',
  sign_in_intro: 'Administration',
  username: 'Username',
  password: 'Password',
  captcha: 'Captcha',
  captcha_another: 'Show another picture',
  ended: 'Your session has ended. Sign in again.',
  signed_out: 'You are signed out.',
}

/** @type {typeof en} */
export const zh = {
  sign_in: '登录',
  signing_in: '正在登录…',
  sign_in_intro: '管理控制台',
  username: '用户名',
  password: '密码',
  captcha: '验证码',
  captcha_another: '换一张',
  ended: '会话已失效，请重新登录。',
  signed_out: '您已退出登录。',
}
